// A blocking exchange of two frames; the peer must belong to this user.
#include "cli/run/control_client.hpp"

#include "base/files/files.hpp"
#include "protocol/journal/framing.hpp"
#include "protocol/messages/message.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace osora::cli {
namespace {

constexpr int kReplySeconds = 5;

std::filesystem::path socket_path(protocol::RunPaths const& paths) {
    auto pointer = read_file(paths.control_path(), 4096);
    if (pointer.has_error()) return paths.control_socket();
    return pointer->substr(0, pointer->find('\n'));
}

Error unreachable(std::filesystem::path const& path, int error) {
    return {Errc::unreachable, path.string() + ": connect: " + std::strerror(error)};
}

}  // namespace

Result<Descriptor> connect_to(std::filesystem::path const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string const name = path.string();
    if (name.size() >= sizeof address.sun_path) return unreachable(path, ENAMETOOLONG);
    std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
    Descriptor peer(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!peer.is_open()) return file_error(errno, "socket", path);
    timeval const limit{kReplySeconds, 0};
    ::setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(peer.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
        return unreachable(path, errno);
    }
    ucred credentials{};
    socklen_t length = sizeof credentials;
    bool const known =
        ::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0;
    if (!known || credentials.uid != ::geteuid()) return unreachable(path, EPERM);
    return peer;
}

namespace {

Result<protocol::ControlReply> read_reply(int peer, std::filesystem::path const& path) {
    protocol::FrameReader reader;
    std::array<std::byte, 4096> buffer{};
    while (true) {
        ssize_t const got = ::recv(peer, buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            return Error{Errc::unreachable, path.string() + ": the controller did not answer"};
        }
        OSORA_TRY(auto const frames,
                  reader.feed(std::span(buffer).first(static_cast<std::size_t>(got))));
        if (frames.empty()) continue;
        OSORA_TRY(auto const message,
                  protocol::decode_message<protocol::FromController>(frames.front()));
        return std::get<protocol::ControlReply>(message);
    }
}

/// A controller on another machine watches for RUN_DIR/stop.json (docs/rfc/001).
Result<void> leave_request(protocol::RunPaths const& paths, protocol::ControlStop const& stop) {
    return write_file_atomic(paths.stop_request(), protocol::encode(stop) + "\n", 0600);
}

Result<void> send_over_socket(protocol::RunPaths const& paths,
                              protocol::ToController const& command) {
    auto const path = socket_path(paths);
    OSORA_TRY(auto const frame, protocol::encode_frame(protocol::encode_message(command)));
    OSORA_TRY(auto const peer, connect_to(path));
    std::string_view rest = frame;
    while (!rest.empty()) {
        ssize_t const sent = ::send(peer.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return unreachable(path, errno);
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    OSORA_TRY(auto const reply, read_reply(peer.get(), path));
    if (!reply.ok) return Error{Errc::invalid_input, reply.message};
    return {};
}

}  // namespace

bool has_controller(protocol::RunPaths const& paths) {
    return connect_to(socket_path(paths)).has_value() ||
           connect_to(socket_path(paths.probe_run())).has_value();
}

Result<void> send_command(protocol::RunPaths const& paths, protocol::ToController const& command) {
    auto sent = send_over_socket(paths, command);
    auto const* const stop = std::get_if<protocol::ControlStop>(&command);
    // A run whose links are being probed has no controller yet; the probe's controller forwards the
    // command.
    if (sent.has_error() && send_over_socket(paths.probe_run(), command).has_value()) return {};
    bool const elsewhere = sent.has_error() && sent.error().code == Errc::unreachable &&
                           ::access(paths.slurm_job().c_str(), F_OK) == 0;
    return stop != nullptr && elsewhere ? leave_request(paths, *stop) : sent;
}

}  // namespace osora::cli
