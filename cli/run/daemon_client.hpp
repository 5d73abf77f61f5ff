// Commands to the daemon of a state folder (osorad serve) over its socket.
#pragma once

#include "base/result.hpp"
#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"
#include "protocol/messages/daemon_messages.hpp"

#include <filesystem>

namespace osora::cli {

/// Sends hello, then `command`. unreachable: there is no daemon; invalid_input with its message
/// when it refuses.
[[nodiscard]] Result<protocol::DaemonReply> ask_daemon(std::filesystem::path const& state,
                                                       protocol::ToDaemon const& command);

/// Whether a daemon, of any version, serves `state`.
[[nodiscard]] bool has_daemon(std::filesystem::path const& state);

/// Submits `run` to the daemon, with the environment of this process; the daemon starts a
/// controller.
[[nodiscard]] Result<void> submit_to_daemon(Context const& context, RunFolder const& run,
                                            bool resume);

}  // namespace osora::cli
