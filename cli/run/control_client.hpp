// Commands to a run's controller over its socket, and whether there is a controller at all.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"
#include "protocol/messages/control_messages.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>

namespace osora::cli {

/// Connects to a unix socket whose owner is us; sends and receives give up after 5 s.
[[nodiscard]] Result<Descriptor> connect_to(std::filesystem::path const& socket);

/// Whether a controller of this machine listens for commands, of the run or of the probe before it.
/// (The run's lock is not tried: holding it even for a moment could turn a controller away that is
/// just starting.)
[[nodiscard]] bool has_controller(protocol::RunPaths const& paths);

/// Sends a command and waits at most 5 s for the reply. A wish to stop also ends the probe before
/// the run, whose controller is yet to be told. A wish to stop a run on Slurm is left in
/// its directory when no controller listens here. unreachable: no controller listens;
/// invalid_input with the controller's words when it refuses.
[[nodiscard]] Result<void> send_command(protocol::RunPaths const& paths,
                                        protocol::ToController const& command);

}  // namespace osora::cli
