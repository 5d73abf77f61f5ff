// Numbers are never cut: a wrong digit is worse than a long line. Only text is.
#include "cli/history/sql_text.hpp"

#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

namespace osora::cli {
namespace {

using db::SqlBlob;
using db::SqlValue;
namespace json = protocol::json;

constexpr int kNarrowest = 8;  // a column of text is not cut below this

std::string hexadecimal(std::string const& bytes) {
    std::string text = "x'";
    for (char const each : bytes) text += fmt::format("{:02X}", static_cast<unsigned char>(each));
    return text + "'";
}

bool is_numeric(SqlValue const& value) {
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

std::string shown_value(SqlValue const& value) {
    struct Shown {
        std::string operator()(std::monostate) const { return "NULL"; }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return fmt::format("{:.6g}", number); }
        std::string operator()(std::string const& text) const { return printable(text); }
        std::string operator()(SqlBlob const& blob) const {
            return "blob " + format_bytes(static_cast<std::int64_t>(blob.bytes.size()));
        }
    };
    return std::visit(Shown{}, value);
}

std::string raw(SqlValue const& value) {
    struct Raw {
        std::string operator()(std::monostate) const { return ""; }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return fmt::format("{}", number); }
        std::string operator()(std::string const& text) const { return text; }
        std::string operator()(SqlBlob const& blob) const { return hexadecimal(blob.bytes); }
    };
    return std::visit(Raw{}, value);
}

/// Length of the UTF-8 sequence at the start of `text`; 0: there is none.
std::size_t sequence_bytes(std::string_view text) {
    auto const first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return 1;
    std::size_t const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
    }
    auto const second = static_cast<unsigned char>(text[1]);
    bool const overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool const outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
    return overlong || outside ? 0 : size;
}

std::string as_utf8(std::string_view text) {
    std::string good;
    while (!text.empty()) {
        auto const size = sequence_bytes(text);
        good += size == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return good;
}

json::value json_of(SqlValue const& value) {
    if (std::holds_alternative<std::monostate>(value)) return nullptr;
    if (auto const* number = std::get_if<std::int64_t>(&value)) return *number;
    if (auto const* number = std::get_if<double>(&value)) {
        if (std::isfinite(*number)) return *number;
        return json::string(*number > 0 ? "Infinity" : "-Infinity");
    }
    return json::string(as_utf8(raw(value)));
}

std::string json_text(db::SqlResult const& result) {
    json::array columns, rows;
    for (auto const& name : result.columns) columns.emplace_back(as_utf8(name));
    for (auto const& row : result.rows) {
        json::array cells;
        for (auto const& value : row) cells.push_back(json_of(value));
        rows.push_back(std::move(cells));
    }
    return printable_json(json::serialize(json::object{{"schema", "osora.history.sql/1"},
                                                       {"columns", std::move(columns)},
                                                       {"rows", std::move(rows)},
                                                       {"more", result.more}})) +
           "\n";
}

TextTable table_of(db::SqlResult const& result) {
    TextTable table;
    for (std::size_t i = 0; i < result.columns.size(); ++i) {
        bool const numbers = std::ranges::all_of(result.rows, [i](auto const& row) {
            return is_numeric(row[i]) || std::holds_alternative<std::monostate>(row[i]);
        });
        auto const name = printable(result.columns[i]);
        // CSV omits columns without a key.
        table.columns.push_back({name, name.empty() ? " " : name, numbers && !result.rows.empty()});
    }
    for (auto const& row : result.rows) {
        auto& cells = table.rows.emplace_back();
        for (auto const& value : row) cells.push_back({shown_value(value), raw(value)});
    }
    return table;
}

std::string cut(std::string const& text, int width) {
    if (display_width(text) <= width) return text;
    return clipped(text, width - 3) + "...";
}

/// Column widths that fit, or none. Only text columns shrink, the widest first.
std::vector<int> fitting_widths(TextTable const& table, int columns) {
    std::vector<int> widths;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        int width = std::max(1, display_width(table.columns[i].title));
        for (auto const& row : table.rows) width = std::max(width, display_width(row[i].text));
        widths.push_back(width);
    }
    auto const total = [&] {
        return std::accumulate(widths.begin(), widths.end(),
                               2 * static_cast<int>(widths.size()) - 1);
    };
    while (total() > columns) {
        std::size_t widest = widths.size();
        for (std::size_t i = 0; i < widths.size(); ++i) {
            bool const gives = !table.columns[i].right && widths[i] > kNarrowest;
            if (gives && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
        }
        if (widest == widths.size()) return {};
        --widths[widest];
    }
    return widths;
}

/// One value per line: "name  value".
std::string as_lines(TextTable const& table) {
    int width = 0;
    for (auto const& column : table.columns) width = std::max(width, display_width(column.title));
    std::string text;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        text += fmt::format("row {}\n", i + 1);
        for (std::size_t k = 0; k < table.columns.size(); ++k) {
            auto const& title = table.columns[k].title;
            std::string const blanks(static_cast<std::size_t>(width - display_width(title)), ' ');
            text += "  " + title + blanks + "  " + table.rows[i][k].text + "\n";
        }
    }
    return text;
}

std::string plain_text(TextTable table, int columns) {
    auto const widths = fitting_widths(table, columns);
    if (widths.empty() && !table.rows.empty()) return as_lines(table);
    for (std::size_t i = 0; i < widths.size(); ++i) {
        auto& column = table.columns[i];
        column.title = cut(column.title, widths[i]);
        if (column.right) continue;
        for (auto& row : table.rows) row[i].text = cut(row[i].text, widths[i]);
    }
    return draw_text(table);
}

}  // namespace

std::string render(db::SqlResult const& result, ReportFormat format, int columns) {
    switch (format) {
        case ReportFormat::json:
            return json_text(result);
        case ReportFormat::csv:
            return draw_csv(table_of(result));
        case ReportFormat::md:
            return draw_markdown(table_of(result));
        case ReportFormat::text:
        case ReportFormat::html:  // only reports
            break;
    }
    return plain_text(table_of(result), columns);
}

}  // namespace osora::cli
