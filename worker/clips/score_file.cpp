#include "worker/clips/score_file.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/files/write_whole.hpp"
#include "base/text/csv.hpp"
#include "base/text/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>

namespace osora::worker {
namespace {

constexpr std::int64_t kScoreBytesMax = std::int64_t{16} << 30;
constexpr std::size_t kColumnsBeside = 5;  // path, frames, size_bytes, mtime_ns, error

/// Scores of two models are not comparable.
Result<void> check_models(ScoreRows const& rows, std::vector<std::string> const& columns,
                          ModelColumns const& models) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const wanted = models.find(columns[i]);
        if (wanted == models.end()) continue;
        for (auto const& [path, row] : rows) {
            if (row.cells[i].empty() || row.cells[i] == wanted->second) continue;
            return invalid(fmt::format(
                "has scores of another model: {} is {} and that of the file is {}; give the file "
                "that made them, another --out, or --force",
                columns[i], row.cells[i], wanted->second));
        }
    }
    return {};
}

Result<void> read_file_scores(std::filesystem::path const& path,
                              std::vector<std::string> const& columns, ModelColumns const& models,
                              ScoreRows& rows) {
    if (!std::filesystem::exists(std::filesystem::symlink_status(path))) return {};
    OSORA_TRY_VOID(check_regular(path));
    OSORA_TRY(std::string const text, read_file(path, kScoreBytesMax));
    auto read = read_scores(text, columns, rows);
    if (!read.has_error()) read = check_models(rows, columns, models);
    if (read.has_error()) return Error(read.error()).in(path.string());
    return {};
}

}  // namespace

std::string score_header(std::vector<std::string> const& columns) {
    std::string line = "path";
    for (std::string const& column : columns) line += "," + column;
    return line + ",frames,size_bytes,mtime_ns,error\n";
}

std::string score_line(ScoreRow const& row) {
    std::string line = csv_field(row.path);
    for (std::string const& cell : row.cells) line += "," + cell;
    return line + fmt::format(",{},{},{},{}\n", row.frames, row.size_bytes, row.mtime_ns,
                              csv_field(row.error));
}

Result<void> read_scores(std::string_view csv, std::vector<std::string> const& columns,
                         ScoreRows& rows) {
    std::string const header = score_header(columns);
    if (!csv.starts_with(header)) {
        if (header.starts_with(csv)) return {};  // empty, or cut in its first line
        return invalid(
            fmt::format("its columns are not {}; give the --scores that made it, another "
                        "--out, or --force",
                        std::string_view(header).substr(0, header.size() - 1)));
    }
    CsvReader reader(csv);
    static_cast<void>(reader.next());
    while (auto read = reader.next()) {
        auto& fields = read->fields;
        if (!read->fault.empty() || fields.size() != columns.size() + kColumnsBeside) continue;
        ScoreRow row{.path = std::move(fields.front()), .cells = {}, .error = {}};
        row.cells.assign(fields.begin() + 1, fields.end() - 4);
        auto const frames = whole_number<int>(fields[fields.size() - 4]);
        auto const size_bytes = whole_number<std::int64_t>(fields[fields.size() - 3]);
        auto const mtime_ns = whole_number<std::int64_t>(fields[fields.size() - 2]);
        row.error = std::move(fields.back());
        if (!frames || !size_bytes || !mtime_ns) continue;
        row.frames = *frames;
        row.size_bytes = *size_bytes;
        row.mtime_ns = *mtime_ns;
        std::string path = row.path;
        rows.insert_or_assign(std::move(path), std::move(row));
    }
    return {};
}

Result<ScoreFile> ScoreFile::open(std::filesystem::path const& path,
                                  std::vector<std::string> const& columns, bool resume,
                                  ModelColumns const& models) {
    OSORA_TRY(auto lock, FileLock::acquire(path.string() + ".lock"));
    std::filesystem::path const part = path.string() + ".part";
    ScoreRows had;
    if (resume) {
        OSORA_TRY_VOID(read_file_scores(path, columns, models, had));
        OSORA_TRY_VOID(read_file_scores(part, columns, models, had));
    }
    OSORA_TRY(auto file, NewFile::create(path));
    OSORA_TRY_VOID(file.write(score_header(columns)));
    std::error_code ignored;
    bool const fresh = !resume || !std::filesystem::exists(part, ignored);
    ScoreFile made(part, std::move(lock), std::move(file));
    made.had_ = std::move(had);
    // Rows that are had already stay in the part: this run may be stopped, too. A cut line ends.
    OSORA_TRY(made.part_, open_private(part, O_WRONLY | O_APPEND | (fresh ? O_TRUNC : 0)));
    bool const empty = fresh || std::filesystem::file_size(part, ignored) == 0;
    OSORA_TRY_VOID(write_whole(made.part_.get(), empty ? score_header(columns) : "\n", part));
    return made;
}

Result<void> ScoreFile::add(ScoreRow const& row, bool is_new) {
    std::string const line = score_line(row);
    if (is_new) OSORA_TRY_VOID(write_whole(part_.get(), line, part_path_));
    return file_.write(line);
}

Result<void> ScoreFile::finish() {
    OSORA_TRY_VOID(file_.replace());
    std::error_code ignored;
    std::filesystem::remove(part_path_, ignored);
    return {};
}

}  // namespace osora::worker
