// Sends commands to a run's controller over its socket, and checks whether there is a controller.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"
#include "protocol/messages/control_messages.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>

namespace osora::cli {

/// Connects to a unix socket that this user owns; send and receive time out after 5 s.
[[nodiscard]] Result<Descriptor> connect_to(std::filesystem::path const& socket);

/// Whether a controller on this machine listens for commands, of the run or of the probe before it.
/// (It does not try the run's lock: holding that even briefly could turn away a controller that is
/// just starting.)
[[nodiscard]] bool has_controller(protocol::RunPaths const& paths);

/// Sends a command and waits at most 5 s for the reply. A stop request also ends the probe before
/// the run, whose controller then gets the request too. If no controller listens here, a stop
/// request for a run on Slurm is written to the run directory. unreachable: no controller listens;
/// invalid_input with the controller's message when it refuses.
[[nodiscard]] Result<void> send_command(protocol::RunPaths const& paths,
                                        protocol::ToController const& command);

/// Asks for a relaunch. If no controller listens here, the request for a run on Slurm is written to
/// the run directory, and deleted again when no controller takes it within 10 s. Returns the
/// controller's reply; of one that took the file its `attempt` is -1 and its message empty.
/// not_found: an older controller, which does not know this request; else as send_command().
[[nodiscard]] Result<protocol::ControlReply> ask_relaunch(protocol::RunPaths const& paths,
                                                          protocol::ControlRelaunch const& asked);

}  // namespace osora::cli
