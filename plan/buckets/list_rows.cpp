// Rows of a list to clips: columns by name, numbers checked.
#include "plan/buckets/list_rows.hpp"

#include "base/text/text.hpp"
#include "plan/buckets/list_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace osora::plan {
namespace {

class RowReader {
public:
    RowReader(ListReader const& list, std::filesystem::path const& folder)
        : places_(list.places()),
          width_(list.width()),
          separator_(list.separator()),
          folder_(folder) {}

    [[nodiscard]] ListRow read(CsvRow const& row) const {
        ListRow listed{.name = field(row, ClipColumn::path),
                       .path = path_of(row),
                       .text = field(row, ClipColumn::text),
                       .line = row.line,
                       .fault = {}};
        auto const done = read_numbers(row, listed);
        if (done.has_value()) return listed;
        return {.name = std::move(listed.name),
                .path = std::move(listed.path),
                .text = {},
                .line = row.line,
                .fault = done.error().message};
    }

    /// For a row of several lines: whether an unclosed quote swallowed the next rows.
    [[nodiscard]] bool took_others(CsvRow const& row) const {
        if (!row.fault.empty() || row.last_line == row.line) return false;
        if (row.fields.size() != width_) return true;
        return std::ranges::any_of(row.fields, [this](std::string const& each) {
            return std::ranges::any_of(behind_line_ends(each),
                                       [this](auto line) { return is_row(line); });
        });
    }

private:
    static std::vector<std::string_view> behind_line_ends(std::string_view field) {
        auto lines = split(field, '\n');
        lines.erase(lines.begin());
        return lines;
    }

    /// Whether a line inside a caption is really a row: it has a clip's name in the path column.
    [[nodiscard]] bool is_row(std::string_view line) const {
        constexpr std::array<std::string_view, 14> kEndings{
            ".mp4", ".mkv", ".webm", ".mov", ".avi",  ".m4v",  ".ts",
            ".flv", ".gif", ".png",  ".jpg", ".jpeg", ".webp", ".mpg"};
        auto const parts = split(line, separator_);
        std::size_t const place = *places_[ClipColumn::path];
        if (parts.size() < 2 || place >= parts.size()) return false;
        std::string const name = lower(trimmed(parts[place]));
        return std::ranges::any_of(kEndings,
                                   [&](std::string_view ending) { return name.ends_with(ending); });
    }

    [[nodiscard]] std::string field(CsvRow const& row, ClipColumn::Place column) const {
        auto const& place = places_[column];
        return place && *place < row.fields.size() ? row.fields[*place] : std::string();
    }

    [[nodiscard]] std::string path_of(CsvRow const& row) const {
        std::string const name = field(row, ClipColumn::path);
        return name.empty() ? name : (folder_ / name).lexically_normal().string();
    }

    Result<void> read_numbers(CsvRow const& row, ListRow& listed) const {
        if (!row.fault.empty()) return Error{Errc::invalid_input, row.fault};
        if (row.fields.size() != width_) {
            return Error{Errc::invalid_input, fmt::format("it has {} fields, the header has {}",
                                                          row.fields.size(), width_)};
        }
        if (listed.path.empty()) return Error{Errc::invalid_input, "the path is empty"};
        if (listed.path.find('\0') != std::string::npos)  // another file, to the system
            return Error{Errc::invalid_input, "the path has a NUL byte"};
        OSORA_TRY(listed.num_frames, count(row, ClipColumn::num_frames));
        OSORA_TRY(listed.height, count(row, ClipColumn::height));
        OSORA_TRY(listed.width, count(row, ClipColumn::width));
        auto const name = kClipColumns[ClipColumn::fps];
        OSORA_TRY(listed.fps, listed_number(name, field(row, ClipColumn::fps), commas()));
        return {};
    }

    [[nodiscard]] Result<int> count(CsvRow const& row, ClipColumn::Place column) const {
        return listed_count(kClipColumns[column], field(row, column), commas());
    }
    [[nodiscard]] bool commas() const { return separator_ != ','; }

    ColumnPlaces places_;
    std::size_t width_;
    char separator_;
    std::filesystem::path folder_;
};

Error no_clip() {
    return {Errc::invalid_input, "it lists no clip; add one line a clip below the header"};
}

/// What a list is that cannot be read, with the line that makes a CSV of it; empty: it may be one
/// that can.
std::string other_kind(std::string_view list) {
    auto const by_pandas = [](std::string_view what, std::string_view read) {
        return fmt::format(
            "it is {}, no CSV and no JSON lines; convert it with: python3 -c \"import pandas as p; "
            "p.{}.to_csv('clips.csv', index=False)\"",
            what, read);
    };
    if (list.starts_with("PAR1")) return by_pandas("Parquet", "read_parquet('LIST')");
    if (list.starts_with("PK\x03\x04")) return by_pandas("a spreadsheet", "read_excel('LIST')");
    if (list.starts_with("\xFF\xFE") || list.starts_with("\xFE\xFF"))
        return "it is UTF-16; convert it with: iconv -f UTF-16 -t UTF-8 LIST > clips.csv";
    if (list.starts_with("\x1F\x8B"))
        return "it is compressed; unpack it with: gzip -dc LIST > clips.csv";
    if (list.starts_with("\xEF\xBB\xBF")) list.remove_prefix(3);
    std::string_view const text = trimmed(list.substr(0, 4096));
    if (text.starts_with('[')) return by_pandas("JSON", "read_json('LIST')");
    return {};
}

}  // namespace

Result<void> read_list_rows(std::string_view text, std::filesystem::path const& folder,
                            ColumnNames const& columns, std::function<void(ListRow)> const& take) {
    if (auto other = other_kind(text); !other.empty())
        return Error{Errc::invalid_input, std::move(other)};
    OSORA_TRY(auto reader, ListReader::open(text, columns));
    RowReader const rows(reader, folder);
    bool any = false;
    while (auto row = reader.next()) {
        if (rows.took_others(*row))
            reader.reject(*row, "a quote is opened and not closed before the next row");
        take(rows.read(*row));
        any = true;
    }
    return any ? Result<void>() : no_clip();
}

}  // namespace osora::plan
