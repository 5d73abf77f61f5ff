// The socket lies where it is wanted, or in a new folder when that path is too long.
#include "daemon/net/command_socket.hpp"

#include "base/files/files.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

#include <cerrno>
#include <cstdlib>

namespace osora::daemon {
namespace {

constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

bool is_own_peer(int socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
    return peer.uid == ::geteuid();
}

/// A new folder for the socket, mode 0700, with a name that no other user can take first: /tmp is
/// open to everyone. Clients find it by the pointer. Not /tmp/osora-UID, which has other rules
/// (docs/rfc/003).
Result<std::filesystem::path> short_folder(CommandPlace const& place) {
    auto const name = fmt::format("osora-{}-XXXXXX", ::geteuid());
    for (auto const& base : {place.runtime_dir, std::filesystem::path("/tmp")}) {
        std::string folder = (base / name).string();
        bool const fits = folder.size() + 1 + place.short_name.size() <= kSocketPathMax;
        if (base.empty() || !fits) continue;
        if (::mkdtemp(folder.data()) != nullptr) return std::filesystem::path(folder);
    }
    return file_error(errno, "make folder", "/tmp/" + name);
}

/// Removes the folder of a controller that was killed: the pointer names it. Only files with this
/// file's own names are removed.
void forget_last(std::filesystem::path const& pointer) {
    constexpr std::int64_t kPointerBytesMax = 4096;
    auto const text = read_file(pointer, kPointerBytesMax);
    if (text.has_error()) return;
    std::filesystem::path const socket = text->substr(0, text->find('\n'));
    auto const folder = socket.parent_path();
    auto const ours = fmt::format("osora-{}-", ::geteuid());
    if (!folder.filename().string().starts_with(ours)) return;
    struct stat info {};
    bool const is_socket = ::lstat(socket.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
    if (is_socket && ::unlink(socket.c_str()) == 0) ::rmdir(folder.c_str());
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
    if (!folder_.empty()) ::rmdir(folder_.c_str());
    if (!pointer_.empty()) ::unlink(pointer_.c_str());
}

Result<void> CommandSocket::listen(CommandPlace const& place) {
    auto path = place.socket;
    if (path.string().size() > kSocketPathMax) {
        forget_last(place.pointer);
        OSORA_TRY(folder_, short_folder(place));
        path = folder_ / place.short_name;
        OSORA_TRY_VOID(write_file_atomic(place.pointer, path.string() + "\n", 0600));
        pointer_ = place.pointer;
    }
    if (pointer_.empty()) ::unlink(place.pointer.c_str());
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

/// So that a command gets in however many other connections are open and silent.
void CommandSocket::adopt(asio::local::stream_protocol::socket socket) {
    if (!is_own_peer(socket.native_handle())) {
        log_.warning("command connection refused", {{"why", "another user"}});
        return;
    }
    if (peers_.size() >= kPeersMax) {
        log_.warning("command connection closed",
                     {{"why", "too many, and this one was silent longest"}});
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
