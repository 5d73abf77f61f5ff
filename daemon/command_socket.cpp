// The socket stands where it is wanted, or in a folder of ours when that path is too long.
#include "daemon/command_socket.hpp"

#include "base/files.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

#include <cerrno>

namespace osora::daemon {
namespace {

constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

bool is_own_peer(int socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
    return peer.uid == ::geteuid();
}

/// A folder of ours for the socket, mode 0700: /tmp is everybody's.
Result<std::filesystem::path> short_folder(std::filesystem::path const& runtime_dir) {
    auto const base = runtime_dir.empty() ? std::filesystem::path("/tmp") : runtime_dir;
    auto const folder = base / fmt::format("osora-{}", ::geteuid());
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return file_error(errno, "make folder", folder);
    }
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0) return file_error(errno, "stat", folder);
    bool const ours =
        S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0;
    if (!ours) {
        return Error{Errc::io, folder.string() + ": is not a folder that only we can use"};
    }
    return folder;
}

}  // namespace

CommandSocket::CommandSocket(TaskGroup& tasks, Logger& log, OnPeer on_peer,
                             std::chrono::milliseconds idle_limit)
    : tasks_(tasks),
      log_(log),
      on_peer_(std::move(on_peer)),
      acceptor_(tasks.executor()),
      idle_limit_(idle_limit) {}

CommandSocket::~CommandSocket() {
    if (!path_.empty()) ::unlink(path_.c_str());
    if (!pointer_.empty()) ::unlink(pointer_.c_str());
}

Result<void> CommandSocket::listen(CommandPlace const& place) {
    auto path = place.socket;
    ::unlink(place.pointer.c_str());
    if (path.string().size() > kSocketPathMax) {
        OSORA_TRY(auto const folder, short_folder(place.runtime_dir));
        path = folder / place.short_name;
        OSORA_TRY_VOID(write_file_atomic(place.pointer, path.string() + "\n", 0600));
        pointer_ = place.pointer;
    }
    ::unlink(path.c_str());
    boost::system::error_code error;
    asio::local::stream_protocol::endpoint const endpoint(path.string());
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) path_ = path;
    if (!error && ::chmod(path.c_str(), 0600) != 0) return file_error(errno, "chmod", path);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return Error{Errc::io, path.string() + ": listen: " + error.message()};
    tasks_.spawn("accept commands", accept_loop());
    tasks_.spawn("idle commands", close_idle());
    return {};
}

asio::awaitable<void> CommandSocket::accept_loop() {
    asio::steady_timer pause(acceptor_.get_executor());
    while (true) {
        asio::local::stream_protocol::socket socket(acceptor_.get_executor());
        auto const [error] = co_await acceptor_.async_accept(socket, kToken);
        if (!error) {
            adopt(std::move(socket));
            continue;
        }
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(kToken);
    }
}

asio::awaitable<void> CommandSocket::close_idle() {
    asio::steady_timer pause(acceptor_.get_executor());
    while (true) {
        pause.expires_after(idle_limit_ / 4 + std::chrono::milliseconds(1));
        co_await pause.async_wait(kToken);
        auto const since = std::chrono::steady_clock::now() - idle_limit_;
        while (!peers_.empty() && peers_.front().heard < since) {
            peers_.front().connection->abandon();
            peers_.pop_front();
        }
    }
}

/// So that a command gets in however many others are connected and say nothing.
void CommandSocket::adopt(asio::local::stream_protocol::socket socket) {
    if (!is_own_peer(socket.native_handle())) {
        log_.warning("command connection refused", {{"why", "another user"}});
        return;
    }
    if (peers_.size() >= kPeersMax) {
        log_.warning("command connection closed", {{"why", "too many, and silent longest"}});
        peers_.front().connection->abandon();
        peers_.pop_front();
    }
    auto const peer = std::make_shared<FrameConnection>(std::move(socket), tasks_, "command");
    auto const at = peers_.insert(peers_.end(), {peer, std::chrono::steady_clock::now()});
    std::weak_ptr<FrameConnection> const weak = peer;
    auto on_frame = [this, at, session = on_peer_(), weak](std::string frame) {
        at->heard = std::chrono::steady_clock::now();
        peers_.splice(peers_.end(), peers_, at);
        auto const self = weak.lock();
        std::string const reply = session(std::move(frame));
        if (self) self->send(reply);
    };
    auto on_closed = [this, at](Error const&) { peers_.erase(at); };
    peer->start({.on_frame = std::move(on_frame), .on_closed = std::move(on_closed)});
}

}  // namespace osora::daemon
