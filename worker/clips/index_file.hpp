// The file of `osora data index`: JSON lines. The first names the version; each other one has a row
// and the beginning of its sha256. Lines are appended while clips are read, so that a kill loses
// only the clips in flight; a cut line is dropped when the file is opened.
#pragma once

#include "base/files/file_lock.hpp"
#include "base/result.hpp"
#include "protocol/clip_index.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

namespace osora::worker {

/// By path; of two rows with one path the later counts.
using IndexRows = std::unordered_map<std::string, protocol::ClipIndexRow>;

struct IndexText {
    IndexRows rows;
    std::int64_t damaged_lines = 0;  // cut, or with another checksum
};

/// With its line end.
[[nodiscard]] std::string index_line(protocol::ClipIndexRow const& row);
[[nodiscard]] std::string index_header();

/// Errors: invalid_input if the text is no index, or one of another version.
[[nodiscard]] Result<IndexText> parse_index(std::string_view text);

class IndexFile {
public:
    /// Makes or continues `path`, and holds path.lock until it is destroyed. Errors: busy (another
    /// process indexes), invalid_input (as parse_index(); not a regular file), io, out_of_space.
    [[nodiscard]] static Result<IndexFile> open(std::filesystem::path const& path);

    [[nodiscard]] IndexText const& had() const { return had_; }
    /// Adds a row, not synced to the disk. Errors: io, out_of_space.
    [[nodiscard]] Result<void> append(protocol::ClipIndexRow const& row);
    /// Syncs. Errors: io, out_of_space.
    [[nodiscard]] Result<void> finish();

private:
    IndexFile(std::filesystem::path path, FileLock lock, IndexText had)
        : path_(std::move(path)), lock_(std::move(lock)), had_(std::move(had)) {}

    std::filesystem::path path_;
    FileLock lock_;
    IndexText had_;
    Descriptor file_;
};

}  // namespace osora::worker
