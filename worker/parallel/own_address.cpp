// Connecting a datagram socket only asks the kernel for a route.
#include "worker/parallel/own_address.hpp"

#include "base/files/descriptor.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace osora::worker {
namespace {

constexpr char const* kAnyPort = "9";  // of a datagram that is never sent

Result<std::string> address_on_route(addrinfo const& peer) {
    Descriptor const socket(::socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    if (!socket.is_open() || ::connect(socket.get(), peer.ai_addr, peer.ai_addrlen) != 0 ||
        ::getsockname(socket.get(), address, &size) != 0) {
        return Error{Errc::unreachable, std::strerror(errno)};
    }
    std::array<char, NI_MAXHOST> text{};
    int const failed =
        ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    if (failed != 0) return Error{Errc::unreachable, ::gai_strerror(failed)};
    return std::string(text.data());
}

}  // namespace

Result<std::string> address_towards(std::string const& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    int const failed = ::getaddrinfo(host.c_str(), kAnyPort, &hints, &found);
    if (failed != 0) {
        return Error{Errc::unreachable, fmt::format("{}: {}", host, ::gai_strerror(failed))};
    }
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const all(found, ::freeaddrinfo);
    Error why{Errc::unreachable, "no address"};
    for (addrinfo const* each = all.get(); each != nullptr; each = each->ai_next) {
        auto own = address_on_route(*each);
        if (own.has_value()) return own;
        why = own.error();
    }
    return std::move(why).in(host);
}

}  // namespace osora::worker
