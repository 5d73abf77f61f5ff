// One byte each way for each step.
#include "worker/mock/peers.hpp"

#include "base/files/files.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace osora::mock {
namespace {

constexpr int kMeetLimitMs = 60'000;

Error lost(std::string_view whom) {
    return {Errc::unreachable, fmt::format("lost {}: connection closed by peer", whom)};
}

Result<void> send_byte(int socket, char byte, std::string_view whom) {
    while (true) {
        ssize_t const sent = ::send(socket, &byte, 1, MSG_NOSIGNAL);
        if (sent == 1) return {};
        if (errno != EINTR) return lost(whom);
    }
}

Result<char> receive_byte(int socket, std::string_view whom) {
    while (true) {
        char byte = 0;
        ssize_t const got = ::recv(socket, &byte, 1, 0);
        if (got == 1) return byte;
        if (got == 0 || errno != EINTR) return lost(whom);
    }
}

}  // namespace

Result<Peers> Peers::meet(PeerOptions const& options) {
    Peers peers(options.rank);
    Descriptor const store(options.store_fd);
    if (options.world_size == 1) return peers;
    OSORA_TRY_VOID(options.rank == 0 ? peers.serve(options) : peers.join(options));
    return peers;
}

Result<void> Peers::serve(PeerOptions const& options) {
    for (int peer = 1; peer < options.world_size; ++peer) {
        pollfd waited{.fd = options.store_fd, .events = POLLIN, .revents = 0};
        if (::poll(&waited, 1, kMeetLimitMs) != 1) {
            return Error{Errc::timed_out,
                         fmt::format("store: {} of {} ranks came", peer, options.world_size)};
        }
        Descriptor socket(::accept4(options.store_fd, nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket.is_open()) return file_error(errno, "accept", "store");
        sockets_.push_back(std::move(socket));
    }
    return {};
}

Result<void> Peers::join(PeerOptions const& options) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(options.store_port));
    if (::inet_pton(AF_INET, options.store_host.c_str(), &address.sin_addr) != 1) {
        return Error{Errc::invalid_input,
                     fmt::format("MASTER_ADDR '{}': no IPv4 address", options.store_host)};
    }
    // The agent bound the port before any rank was started: the first try must do.
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto const* const where = reinterpret_cast<sockaddr const*>(&address);
    if (::connect(socket.get(), where, sizeof address) != 0) {
        return file_error(errno, "connect",
                          fmt::format("{}:{}", options.store_host, options.store_port));
    }
    sockets_.push_back(std::move(socket));
    return {};
}

Result<bool> Peers::agree(bool stop) {
    for (Descriptor const& socket : sockets_) {
        if (rank_ != 0) {
            OSORA_TRY_VOID(send_byte(socket.get(), 'r', "rank 0"));
        }
        OSORA_TRY(char const byte, receive_byte(socket.get(), rank_ == 0 ? "a rank" : "rank 0"));
        if (rank_ != 0) return byte == 's';
    }
    for (Descriptor const& socket : sockets_) {
        OSORA_TRY_VOID(send_byte(socket.get(), stop ? 's' : 'g', "a rank"));
    }
    return stop;
}

}  // namespace osora::mock
