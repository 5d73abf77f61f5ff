// Blocking sockets with a receive limit.
#include "tests/e2e/peer.hpp"

#include "protocol/journal/framing.hpp"
#include "tests/kit/patience.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace osora::e2e {
namespace {

int open_socket(int family) {
    int const fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval const limit{.tv_sec = static_cast<time_t>(tests::kPatience_s), .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

}  // namespace

Listener::Listener(int port) : socket_(open_socket(AF_INET)) {
    int const yes = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in const address = loopback(port);
    auto const* where = reinterpret_cast<sockaddr const*>(&address);
    EXPECT_EQ(::bind(socket_.get(), where, sizeof address), 0) << "port " << port;
    EXPECT_EQ(::listen(socket_.get(), 16), 0);
}

DatagramListener::DatagramListener(std::string const& path)
    : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    auto const* where = reinterpret_cast<sockaddr const*>(&address);
    EXPECT_EQ(::bind(socket_.get(), where, sizeof address), 0) << path;
    timeval const limit{.tv_sec = static_cast<time_t>(tests::kPatience_s), .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

std::string DatagramListener::receive() const {
    std::string text(256, '\0');
    ssize_t const got = ::recv(socket_.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

Peer Peer::connect_tcp(int port) {
    sockaddr_in const address = loopback(port);
    Peer peer(open_socket(AF_INET));
    auto const* where = reinterpret_cast<sockaddr const*>(&address);
    EXPECT_EQ(::connect(peer.socket_.get(), where, sizeof address), 0) << "port " << port;
    return peer;
}

Peer Peer::connect_unix(std::string const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    Peer peer(open_socket(AF_UNIX));
    auto const* where = reinterpret_cast<sockaddr const*>(&address);
    EXPECT_EQ(::connect(peer.socket_.get(), where, sizeof address), 0) << path;
    return peer;
}

void Peer::send_bytes(std::string_view bytes) const {
    [[maybe_unused]] auto const sent =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void Peer::send_frame(std::string_view body) const {
    send_bytes(protocol::encode_frame(body).value());
}

std::optional<std::string> Peer::receive_exactly(std::size_t bytes) const {
    std::string content(bytes, '\0');
    ssize_t const got = ::recv(socket_.get(), content.data(), bytes, MSG_WAITALL);
    if (got != static_cast<ssize_t>(bytes)) return std::nullopt;
    return content;
}

std::optional<std::string> Peer::receive_frame() const {
    auto const header = receive_exactly(protocol::kFrameHeaderBytes);
    if (!header) return std::nullopt;
    std::uint32_t length = 0;
    std::memcpy(&length, header->data(), sizeof length);
    return receive_exactly(ntohl(length));
}

bool Peer::is_dropped() const {
    char byte = 0;
    while (true) {
        ssize_t const got = ::recv(socket_.get(), &byte, 1, 0);
        if (got == 0) return true;
        if (got < 0) return errno == ECONNRESET;
    }
}

}  // namespace osora::e2e
