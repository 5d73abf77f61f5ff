// Limits the size of a rank's log while the rank writes it (faults.log_mib): the middle of the file
// is given back to the file system as a hole. The rank appends through its own descriptor and
// notices nothing; no line is copied or lost on the way, and offsets in the file stay valid. The
// beginning, which shows how the rank was started, and the newest lines are always kept.
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

/// What to free of a log of `size_bytes` of which `gone` is already freed: nothing while the rest
/// is within `cap_bytes` (0: always), else all but the beginning and the newest three quarters of
/// the cap.
[[nodiscard]] FilePart part_to_free(std::int64_t size_bytes, FilePart gone, std::int64_t cap_bytes);

class LogCap {
public:
    /// `file` must exist; `cap_bytes` 0: no cap.
    LogCap(std::filesystem::path file, std::int64_t cap_bytes);

    /// Frees what exceeds the cap. io: the file system cannot punch holes; this is not tried again,
    /// and the log grows without a cap.
    [[nodiscard]] Result<void> hold();

private:
    std::filesystem::path path_;
    std::int64_t cap_bytes_;
    Descriptor file_;
    FilePart gone_;
};

}  // namespace osora::daemon
