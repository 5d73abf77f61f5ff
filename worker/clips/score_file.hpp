// The file of `osora data score`: a CSV with a row for each clip of a list, in its order. While
// clips are scored, rows are also appended to FILE.part, so that a kill loses only the clips in
// flight; FILE appears whole, and FILE.part goes, at the end.
#pragma once

#include "base/files/file_lock.hpp"
#include "base/files/new_file.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace osora::worker {

/// One clip.
struct ScoreRow {
    std::string path;                           // as in the list
    std::vector<std::string> cells;             // of the columns of the scores; "": there is none
    std::string error = {};                     // why the clip has no scores; empty: it has
    int frames = 0;                             // asked for of each clip
    std::int64_t size_bytes = 0, mtime_ns = 0;  // of the file when it was opened
};

/// "path,...,frames,size_bytes,mtime_ns,error", and a row's line; with line ends.
[[nodiscard]] std::string score_header(std::vector<std::string> const& columns);
[[nodiscard]] std::string score_line(ScoreRow const& row);

/// The hash of a column SCORE_model by the column; each row has it, or nothing.
using ModelColumns = std::map<std::string, std::string>;

/// Rows by path; of two with one path the later counts. A row that is cut is left out. Errors:
/// invalid_input if the columns are others.
using ScoreRows = std::unordered_map<std::string, ScoreRow>;
[[nodiscard]] Result<void> read_scores(std::string_view csv,
                                       std::vector<std::string> const& columns, ScoreRows& rows);

class ScoreFile {
public:
    /// `resume`: rows of `path` and of path.part are had; else path.part is emptied. Holds
    /// path.lock until it is destroyed. Errors: busy (another process scores), invalid_input (as
    /// read_scores(), or a row of another model), io, out_of_space.
    [[nodiscard]] static Result<ScoreFile> open(std::filesystem::path const& path,
                                                std::vector<std::string> const& columns,
                                                bool resume, ModelColumns const& models = {});

    [[nodiscard]] ScoreRows const& had() const { return had_; }
    [[nodiscard]] Result<void> add(ScoreRow const& row, bool is_new);
    [[nodiscard]] Result<void> finish();

private:
    ScoreFile(std::filesystem::path part, FileLock lock, NewFile file)
        : part_path_(std::move(part)), lock_(std::move(lock)), file_(std::move(file)) {}

    std::filesystem::path part_path_;
    FileLock lock_;
    NewFile file_;
    Descriptor part_;
    ScoreRows had_;
};

}  // namespace osora::worker
