// Measures how fast files are opened and read here, bypassing the page cache. Blocking, with a time
// limit.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::topology {

struct StorageReadOptions {
    double limit_s = 1.0;
    std::int64_t bytes_max = std::int64_t{4} << 30;
};
struct StorageRead {
    std::int64_t bytes = 0;
    double seconds = 0;  // of reading alone
    double open_us = 0;  // median of opening a file and reading its first block
    int files = 0;       // that were opened
    std::string path;    // the first of these
};

/// Regular files of `paths`: the paths themselves, or files below a folder (at most `count_max`),
/// in a stable order. not_found names what is missing.
[[nodiscard]] Result<std::vector<std::string>> files_to_read(std::vector<std::string> const& paths,
                                                             std::size_t count_max = 256);

/// Reads the files in turn, starting with the `first`-th, each from its start, until the limit.
/// Drops their page cache before. not_found: none could be read, and why.
[[nodiscard]] Result<StorageRead> read_storage(std::vector<std::string> const& files,
                                               std::size_t first,
                                               StorageReadOptions const& options);

/// Bytes per second of memory copies on this machine, one thread, blocks far larger than caches.
[[nodiscard]] double memory_copy_bytes_per_s();

}  // namespace osora::topology
