#include "topology/live/socket_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

namespace osora::topology {
namespace {

std::string text_of(int family, void const* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    char const* const written = ::inet_ntop(family, address, text.data(), text.size());
    return written == nullptr ? std::string() : std::string(written);
}

/// Bytes of an address with bits outside the mask cleared, and the length of the mask.
template <std::size_t N>
std::string network_of(int family, std::array<unsigned char, N> address,
                       std::array<unsigned char, N> const& mask) {
    int bits = 0;
    for (std::size_t byte = 0; byte < N; ++byte) {
        address[byte] &= mask[byte];
        bits += std::popcount(mask[byte]);
    }
    return fmt::format("{}/{}", text_of(family, address.data()), bits);
}

template <std::size_t N>
std::array<unsigned char, N> bytes_at(void const* from) {
    std::array<unsigned char, N> bytes{};
    std::memcpy(bytes.data(), from, N);
    return bytes;
}

void add(std::vector<OwnAddress>& found, ifaddrs const& each) {
    constexpr unsigned kWanted = IFF_UP | IFF_RUNNING;
    bool const usable = each.ifa_addr != nullptr && each.ifa_netmask != nullptr &&
                        (each.ifa_flags & kWanted) == kWanted &&
                        (each.ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable) return;
    if (each.ifa_addr->sa_family == AF_INET) {
        auto const* address = reinterpret_cast<sockaddr_in const*>(each.ifa_addr);
        auto const* mask = reinterpret_cast<sockaddr_in const*>(each.ifa_netmask);
        found.push_back(
            {each.ifa_name, text_of(AF_INET, &address->sin_addr),
             network_of(AF_INET, bytes_at<4>(&address->sin_addr), bytes_at<4>(&mask->sin_addr))});
    } else if (each.ifa_addr->sa_family == AF_INET6) {
        auto const* address = reinterpret_cast<sockaddr_in6 const*>(each.ifa_addr);
        auto const* mask = reinterpret_cast<sockaddr_in6 const*>(each.ifa_netmask);
        if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) return;
        found.push_back({each.ifa_name, text_of(AF_INET6, &address->sin6_addr),
                         network_of(AF_INET6, bytes_at<16>(&address->sin6_addr),
                                    bytes_at<16>(&mask->sin6_addr))});
    }
}

struct FreeAddressInfo {
    void operator()(addrinfo* info) const { ::freeaddrinfo(info); }
};
struct FreeInterfaces {
    void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

}  // namespace

Result<SocketAddress> parse_address(std::string const& address, int port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    int const error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
    std::unique_ptr<addrinfo, FreeAddressInfo> const owner(error == 0 ? found : nullptr);
    if (error != 0 || found->ai_addrlen > sizeof(sockaddr_storage)) {
        return Error{Errc::invalid_input,
                     fmt::format("'{}' is no numeric address", address.substr(0, 64))};
    }
    SocketAddress parsed;
    std::memcpy(&parsed.storage_, found->ai_addr, found->ai_addrlen);
    parsed.size_ = found->ai_addrlen;
    return parsed;
}

int bound_port(int socket) {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
    return bound.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6&>(bound).sin6_port)
                                       : ntohs(reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

std::string peer_address(int socket) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
    if (peer.ss_family == AF_INET) {
        return text_of(AF_INET, &reinterpret_cast<sockaddr_in&>(peer).sin_addr);
    }
    auto const& address = reinterpret_cast<sockaddr_in6&>(peer).sin6_addr;
    constexpr int kIpv4Offset = 12;
    return IN6_IS_ADDR_V4MAPPED(&address) ? text_of(AF_INET, &address.s6_addr[kIpv4Offset])
                                          : text_of(AF_INET6, &address);
}

std::vector<OwnAddress> network_addresses() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    std::unique_ptr<ifaddrs, FreeInterfaces> const owner(list);
    std::vector<OwnAddress> found;
    for (ifaddrs const* each = list; each != nullptr; each = each->ifa_next) add(found, *each);
    std::ranges::stable_sort(found, {}, &OwnAddress::interface);
    return found;
}

}  // namespace osora::topology
