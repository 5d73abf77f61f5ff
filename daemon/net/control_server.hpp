// RUN_DIR/control.sock: commands of `osora` to a run's controller. Peers of another uid are
// refused. Private to shells (Asio inside).
#pragma once

#include "daemon/net/command_socket.hpp"
#include "protocol/messages/control_messages.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace osora::daemon {

class ControlServer {
public:
    using OnCommand = std::function<protocol::ControlReply(protocol::ToController)>;

    ControlServer(TaskGroup& tasks, Logger& log, OnCommand on_command);

    /// Where the run's path is too long for a socket, the socket lies in $XDG_RUNTIME_DIR
    /// (`runtime_dir`) or /tmp, and control.path holds its path. The caller holds the run's lock.
    [[nodiscard]] Result<void> listen(protocol::RunPaths const& paths, std::string const& run_uuid,
                                      std::filesystem::path const& runtime_dir);
    [[nodiscard]] std::filesystem::path const& path() const { return socket_.path(); }

private:
    CommandSocket socket_;
};

}  // namespace osora::daemon
