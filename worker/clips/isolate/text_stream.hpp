// Messages between osora-clips and the process that it decodes for, over a stream socket: a count,
// then length and bytes of each text, in the byte order of the machine. Bytes are any.
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

using Texts = std::vector<std::string>;

/// Errors: io (the other end is gone).
[[nodiscard]] Result<void> send_texts(int fd, std::vector<std::string_view> const& texts);

/// How long a receiver waits.
struct ReceiveLimits {
    std::optional<std::chrono::steady_clock::time_point> until = {};
    std::atomic<bool> const* cancel = nullptr;
};
/// The next message; nothing: the other end has closed. Errors: io, timed_out, cancelled, corrupt
/// (longer than 1 GiB).
[[nodiscard]] Result<std::optional<Texts>> receive_texts(int fd, ReceiveLimits const& limits = {});

}  // namespace osora::worker
