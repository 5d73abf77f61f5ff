// RUN_DIR/control.sock: commands of `osora` to a run's controller. Peers of another uid are
// refused. Private to shells (Asio inside).
#pragma once

#include "base/log.hpp"
#include "base/task_group.hpp"
#include "daemon/frame_connection.hpp"
#include "protocol/control_messages.hpp"
#include "protocol/run_directory.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace osora::daemon {

class ControlServer {
public:
    using OnCommand = std::function<protocol::ControlReply(protocol::ToController)>;
    static constexpr std::size_t kPeersMax = 16;

    ControlServer(TaskGroup& tasks, Logger& log, OnCommand on_command);
    /// Removes the socket.
    ~ControlServer();
    ControlServer(ControlServer const&) = delete;
    ControlServer& operator=(ControlServer const&) = delete;

    /// Binds the run's socket, mode 0600; one that an earlier controller left is replaced (the
    /// caller holds the run's lock). Where the path is too long for a socket, it stands in
    /// $XDG_RUNTIME_DIR (`runtime_dir`) or /tmp, and control.path says where.
    [[nodiscard]] Result<void> listen(protocol::RunPaths const& paths, std::string const& run_uuid,
                                      std::filesystem::path const& runtime_dir);
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    asio::awaitable<void> accept_loop();
    void adopt(asio::local::stream_protocol::socket socket);

    TaskGroup& tasks_;
    Logger& log_;
    OnCommand on_command_;
    asio::local::stream_protocol::acceptor acceptor_;
    std::filesystem::path path_;
    std::filesystem::path pointer_;  // control.path, when it was written
    std::set<std::shared_ptr<FrameConnection>> peers_;
};

}  // namespace osora::daemon
