// Reading and writing RUN_DIR/controller.json and controller.pem, the secrets of a run that outlive
// its controller: the token and the key that its agents know.
#pragma once

#include "base/result.hpp"
#include "daemon/net/tls_identity.hpp"
#include "protocol/controller_file.hpp"
#include "protocol/run_directory.hpp"

namespace osora::daemon {

/// not_found: there is none; invalid_input: it cannot be parsed, belongs to another user, is open
/// to other users, or belongs to another run.
[[nodiscard]] Result<protocol::ControllerFile> read_controller_file(protocol::RunPaths const& paths,
                                                                    std::string const& run_uuid);
[[nodiscard]] Result<void> write_controller_file(protocol::RunPaths const& paths,
                                                 protocol::ControllerFile const& file);

/// The identity that an earlier incarnation wrote, else a new one, which is then on the disk.
[[nodiscard]] Result<TlsIdentity> take_identity(protocol::RunPaths const& paths);

}  // namespace osora::daemon
