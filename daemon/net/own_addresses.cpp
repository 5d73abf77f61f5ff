// getifaddrs and the routing table: no name is resolved, so nothing here blocks.
#include "daemon/net/own_addresses.hpp"

#include "base/files/descriptor.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace osora::daemon {
namespace {

constexpr unsigned kUnacknowledgedMilliseconds = 5000;

bool is_bridge(std::string_view interface) {
    constexpr std::array<std::string_view, 6> kPrefixes{"docker", "br-", "virbr",
                                                        "veth",   "cni", "podman"};
    return std::ranges::any_of(kPrefixes,
                               [&](auto prefix) { return interface.starts_with(prefix); });
}

bool is_of_one_link(std::string_view address) {
    return address.starts_with("fe80") || address.starts_with("169.254.");
}

std::string text_of(sockaddr const* address) {
    std::array<char, NI_MAXHOST> text{};
    bool const v6 = address->sa_family == AF_INET6;
    socklen_t const size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    int const failed =
        ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    return failed == 0 ? std::string(text.data()) : std::string();
}

bool is_ip(sockaddr const* address) {
    return address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> const owner(list, &::freeifaddrs);
    std::vector<InterfaceAddress> found;
    for (ifaddrs const* each = list; each != nullptr; each = each->ifa_next) {
        if (!is_ip(each->ifa_addr)) continue;
        found.push_back({each->ifa_name, text_of(each->ifa_addr),
                         (each->ifa_flags & IFF_LOOPBACK) != 0, (each->ifa_flags & IFF_UP) != 0});
    }
    return found;
}

/// This machine's source address for its default route; "" when it has none. Nothing is sent:
/// connecting a datagram socket only reads the routing table.
std::string address_of_default_route() {
    Descriptor const probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(9);
    there.sin_addr.s_addr = htonl(0xc0000201);  // 192.0.2.1, reserved for documentation (RFC 5737)
    auto const* where = reinterpret_cast<sockaddr const*>(&there);
    if (!probe.is_open() || ::connect(probe.get(), where, sizeof there) != 0) return "";
    sockaddr_in here{};
    socklen_t size = sizeof here;
    if (::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0) return "";
    return text_of(reinterpret_cast<sockaddr const*>(&here));
}

}  // namespace

std::vector<std::string> order_addresses(std::vector<InterfaceAddress> const& all,
                                         std::string const& preferred) {
    auto const rank = [&](InterfaceAddress const& each) {
        if (each.address == preferred) return 0;
        bool const v6 = each.address.find(':') != std::string::npos;
        return (is_bridge(each.interface) ? 3 : 1) + (v6 ? 1 : 0);
    };
    std::vector<InterfaceAddress> usable, loopback;
    for (InterfaceAddress const& each : all) {
        if (!each.up || each.address.empty() || is_of_one_link(each.address)) continue;
        (each.loopback ? loopback : usable).push_back(each);
    }
    if (usable.empty()) usable = loopback;
    std::ranges::stable_sort(usable, {}, rank);
    std::vector<std::string> addresses;
    for (InterfaceAddress const& each : usable) addresses.push_back(each.address);
    return addresses;
}

std::vector<std::string> own_addresses() {
    return order_addresses(interface_addresses(), address_of_default_route());
}

void prepare_socket(int socket) {
    int const yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    unsigned const limit = kUnacknowledgedMilliseconds;
    ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

}  // namespace osora::daemon
