// Why a clip cannot be used, in the words of `osora data check`.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_requests.hpp"

#include <string>

namespace osora::worker {

struct ClipFault {
    std::string kind;  // row, missing, empty, unreadable, damaged, short, size, slow, too_large,
                       // model, crash
    std::string reason;
};

/// Of an error of ClipDecoder for `path`; looks at the beginning of the file.
[[nodiscard]] ClipFault fault_of(Error const& error, std::string const& path, double deadline_s);

/// For an answer in JSON: a name that is not UTF-8 has '?' in place of the bytes that are not.
[[nodiscard]] protocol::DamagedClip damaged_clip(int line, std::string const& name,
                                                 ClipFault fault);

}  // namespace osora::worker
