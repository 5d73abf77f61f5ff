// A unix socket for commands of the same user: each connection is a session that answers each frame
// with one. Peers of another uid are refused. Private to shells (Asio inside).
#pragma once

#include "base/log.hpp"
#include "base/task_group.hpp"
#include "daemon/frame_connection.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace osora::daemon {

struct CommandPlace {
    std::filesystem::path socket;   // where it should be
    std::filesystem::path pointer;  // holds the path when that is too long for a socket
    std::string short_name;         // of the socket then, in a new folder of runtime_dir or /tmp
    std::filesystem::path runtime_dir;  // $XDG_RUNTIME_DIR; may be empty
};

class CommandSocket {
public:
    /// Answers one frame.
    using Session = std::function<std::string(std::string frame)>;
    using OnPeer = std::function<Session()>;
    static constexpr std::size_t kPeersMax = 16;

    CommandSocket(TaskGroup& tasks, Logger& log, OnPeer on_peer);
    /// Removes the socket.
    ~CommandSocket();
    CommandSocket(CommandSocket const&) = delete;
    CommandSocket& operator=(CommandSocket const&) = delete;

    /// Binds it, mode 0600; one that a predecessor left is replaced (the caller holds a lock).
    [[nodiscard]] Result<void> listen(CommandPlace const& place);
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    asio::awaitable<void> accept_loop();
    void adopt(asio::local::stream_protocol::socket socket);

    TaskGroup& tasks_;
    Logger& log_;
    OnPeer on_peer_;
    asio::local::stream_protocol::acceptor acceptor_;
    std::filesystem::path path_;
    std::filesystem::path pointer_;  // when it was written
    std::filesystem::path folder_;   // made for the socket alone
    std::set<std::shared_ptr<FrameConnection>> peers_;
};

}  // namespace osora::daemon
