// Why a clip cannot be used, in the words of `osora data check`.
#pragma once

#include "base/result.hpp"

#include <string>

namespace osora::worker {

struct ClipFault {
    std::string kind;  // row, missing, empty, unreadable, damaged, short, size, slow, too_large
    std::string reason;
};

/// Of an error of ClipDecoder for `path`; looks at the beginning of the file.
[[nodiscard]] ClipFault fault_of(Error const& error, std::string const& path, double deadline_s);

}  // namespace osora::worker
