// Two exchanges on one connection: hello, then the command.
#include "cli/run/daemon_client.hpp"

#include "base/files/files.hpp"
#include "base/version.hpp"
#include "cli/run/control_client.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/journal/framing.hpp"
#include "protocol/messages/message.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

fs::path socket_of(fs::path const& state) {
    auto const pointer = read_file(state / protocol::kDaemonSocketPointer, 4096);
    if (pointer.has_error()) return state / protocol::kDaemonSocket;
    return pointer->substr(0, pointer->find('\n'));
}

Result<void> send_all(Descriptor const& peer, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const sent = ::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return Error{Errc::unreachable, "the daemon does not listen"};
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

Result<std::string> receive_frame(Descriptor const& peer) {
    protocol::FrameReader reader;
    std::array<std::byte, 4096> buffer{};
    while (true) {
        ssize_t const got = ::recv(peer.get(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return Error{Errc::unreachable, "the daemon did not answer"};
        OSORA_TRY(auto frames, reader.feed(std::span(buffer).first(static_cast<std::size_t>(got))));
        if (!frames.empty()) return std::move(frames.front());
    }
}

Result<protocol::DaemonReply> exchange(Descriptor const& peer, protocol::ToDaemon const& command) {
    OSORA_TRY(auto const frame, protocol::encode_frame(protocol::encode_message(command)));
    OSORA_TRY_VOID(send_all(peer, frame));
    OSORA_TRY(auto const answer, receive_frame(peer));
    OSORA_TRY(auto message, protocol::decode_message<protocol::FromDaemon>(answer));
    auto& reply = std::get<protocol::DaemonReply>(message);
    if (!reply.ok) return Error{Errc::invalid_input, reply.message};
    return std::move(reply);
}

}  // namespace

Result<protocol::DaemonReply> ask_daemon(fs::path const& state, protocol::ToDaemon const& command) {
    OSORA_TRY(auto const peer, connect_to(socket_of(state)));
    protocol::DaemonHello hello;
    hello.version = kVersion;
    OSORA_TRY_VOID(exchange(peer, hello));
    return exchange(peer, command);
}

bool has_daemon(fs::path const& state) {
    return connect_to(socket_of(state)).has_value();
}

Result<void> submit_to_daemon(Context const& context, RunFolder const& run, bool resume) {
    OSORA_TRY(auto const text, protocol::encode_environment(context.environment));
    OSORA_TRY_VOID(write_file_atomic(run.paths.environment(), text, 0600));
    protocol::AdoptRun take;
    take.run_dir = run.paths.dir.string();
    take.resume = resume;
    OSORA_TRY_VOID(ask_daemon(run.paths.state().dir, take));
    return {};
}

}  // namespace osora::cli
