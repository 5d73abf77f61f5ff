// Holds the log of a rank to a size while the rank writes it (faults.log_mib): the middle of the
// file is given back to the file system as a hole. The rank appends through a descriptor of its own
// and notices nothing; no line is copied or lost on the way, and places in the file stay what they
// are. The beginning, which says how the rank was started, and the newest lines are always there.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <filesystem>

namespace osora::daemon {

/// Bytes [begin, end) of a file.
struct FilePart {
    std::int64_t begin = 0, end = 0;
    [[nodiscard]] bool is_empty() const { return begin >= end; }
    friend bool operator==(FilePart const&, FilePart const&) = default;
};

/// What is to go of a log of `size_bytes` of which `gone` has gone: nothing while what is left is
/// within `cap_bytes` (0: always), else all but the beginning and the newest three quarters of it.
[[nodiscard]] FilePart part_to_free(std::int64_t size_bytes, FilePart gone, std::int64_t cap_bytes);

class LogCap {
public:
    /// Of a file that is there; `cap_bytes` 0: none.
    LogCap(std::filesystem::path file, std::int64_t cap_bytes);

    /// Frees what is too much. io: the file system cannot free a part of a file; it is not asked
    /// again, and the log grows on.
    [[nodiscard]] Result<void> hold();

private:
    std::filesystem::path path_;
    std::int64_t cap_bytes_;
    Descriptor file_;
    FilePart gone_;
};

}  // namespace osora::daemon
