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
#include <chrono>
#include <cstring>
#include <thread>

namespace osora::cli {
namespace {

constexpr int kReplySeconds = 5;
constexpr auto kTakenLimit = std::chrono::seconds(10);  // controllers look twice a second

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

Result<protocol::ControlReply> ask_controller(protocol::RunPaths const& paths,
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
    OSORA_TRY(auto reply, read_reply(peer.get(), path));
    if (!reply.ok && reply.message.starts_with("unknown message")) {
        return Error{Errc::not_found, std::move(reply.message)};
    }
    if (!reply.ok) return Error{Errc::invalid_input, std::move(reply.message)};
    return reply;
}

Result<void> send_over_socket(protocol::RunPaths const& paths,
                              protocol::ToController const& command) {
    auto const reply = ask_controller(paths, command);
    if (reply.has_error()) return reply.error();
    return {};
}

bool is_elsewhere(protocol::RunPaths const& paths, Error const& error) {
    return error.code == Errc::unreachable && ::access(paths.slurm_job().c_str(), F_OK) == 0;
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
    bool const elsewhere = sent.has_error() && is_elsewhere(paths, sent.error());
    return stop != nullptr && elsewhere ? leave_request(paths, *stop) : sent;
}

Result<protocol::ControlReply> ask_relaunch(protocol::RunPaths const& paths,
                                            protocol::ControlRelaunch const& asked) {
    auto const reply = ask_controller(paths, asked);
    bool const unreachable = reply.has_error() && reply.error().code == Errc::unreachable;
    // The controller that probes the links before the run's own one takes commands for it.
    if (unreachable && send_over_socket(paths.probe_run(), protocol::ControlPing{}).has_value()) {
        return Error{Errc::invalid_input,
                     "its links are being measured: no worker runs that could be launched again"};
    }
    if (!unreachable || !is_elsewhere(paths, reply.error())) return reply;
    auto const file = paths.relaunch_request();
    OSORA_TRY_VOID(write_file_atomic(file, protocol::encode(asked) + "\n", 0600));
    auto const deadline = std::chrono::steady_clock::now() + kTakenLimit;
    while (std::chrono::steady_clock::now() < deadline) {
        if (::access(file.c_str(), F_OK) != 0) return protocol::ControlReply{};
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (::unlink(file.c_str()) != 0) return protocol::ControlReply{};  // taken just now
    return Error{Errc::unreachable, "no controller took " + file.string() + " within 10 s"};
}

}  // namespace osora::cli
