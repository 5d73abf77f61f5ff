// What the ssh backend runs on a host: start an agent, kill what is left of one, copy osorad there.
// One connection and one command each; what differs from host to host goes to standard input.
// Private to shells (Asio inside).
#pragma once

#include "daemon/agent/agent_announcement.hpp"
#include "daemon/backends/slurm/sweep.hpp"
#include "daemon/backends/ssh/ssh_command.hpp"

#include <filesystem>

namespace osora::daemon {

using SharedCommand = std::shared_ptr<SshCommand>;

/// "exec '/opt/osora/bin/osorad' agent", for a shell.
[[nodiscard]] std::string run_text(std::filesystem::path const& osorad, std::string_view argument);
/// The same for the copy in the user's cache.
[[nodiscard]] std::string run_copy_text(std::string_view hash, std::string_view argument);
/// Writes that copy from its standard input. `node`: two hosts may share a home folder.
[[nodiscard]] std::string copy_text(std::string_view hash, int node);

/// The agent has announced itself; `command` continues. not_found: no such program there.
[[nodiscard]] asio::awaitable<Result<AgentAnnounced>> start_agent_on(SharedCommand command,
                                                                     std::string text,
                                                                     AgentStart start);
/// How many processes survived. not_found: as above.
[[nodiscard]] asio::awaitable<Result<int>> sweep_on(SharedCommand command, std::string text,
                                                    SweepOrder order);
[[nodiscard]] asio::awaitable<Result<void>> copy_to(SharedCommand command, std::string text,
                                                    std::string content);

/// The first 16 hexadecimal digits of the SHA-256 of a program.
[[nodiscard]] std::string hash_of(std::string_view content);

}  // namespace osora::daemon
