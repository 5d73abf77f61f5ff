// A unix socket for commands of the same user: each connection is a session that answers each frame
// with one frame. Peers of another uid are refused. Private to shells (Asio inside).
#pragma once

#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/net/frame_connection.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace osora::daemon {

struct CommandPlace {
    std::filesystem::path socket;   // where it should be
    std::filesystem::path pointer;  // holds the path when that is too long for a socket
    std::string short_name;  // then the name of the socket, in a new folder of runtime_dir or /tmp
    std::filesystem::path runtime_dir;  // $XDG_RUNTIME_DIR; may be empty
};

class CommandSocket {
public:
    /// Answers one frame.
    using Session = std::function<std::string(std::string frame)>;
    using OnPeer = std::function<Session()>;
    static constexpr std::size_t kPeersMax = 16;  // then the one silent longest is closed
    static constexpr std::chrono::seconds kIdleLimit{60};

    CommandSocket(TaskGroup& tasks, Logger& log, OnPeer on_peer,
                  std::chrono::milliseconds idle_limit = kIdleLimit);
    /// Removes the socket.
    ~CommandSocket();
    CommandSocket(CommandSocket const&) = delete;
    CommandSocket& operator=(CommandSocket const&) = delete;

    /// Binds it, mode 0600; one that a predecessor left is replaced (the caller holds a lock).
    [[nodiscard]] Result<void> listen(CommandPlace const& place);
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    asio::awaitable<void> accept_loop();
    asio::awaitable<void> close_idle();
    void adopt(asio::local::stream_protocol::socket socket);

    TaskGroup& tasks_;
    Logger& log_;
    OnPeer on_peer_;
    asio::local::stream_protocol::acceptor acceptor_;
    std::filesystem::path path_;
    std::filesystem::path pointer_;  // if it was written
    std::filesystem::path folder_;   // made only for the socket
    struct Peer {
        std::shared_ptr<FrameConnection> connection;
        std::chrono::steady_clock::time_point heard;
    };
    std::chrono::milliseconds idle_limit_;
    std::list<Peer> peers_;  // the one that was silent longest first
};

}  // namespace osora::daemon
