// Addresses of interfaces from proc/net. IPv4: fib_trie has this machine's own addresses, route the
// networks of each interface; an address belongs to the interface with the narrowest network that
// contains it. IPv6: if_inet6 has everything.
#include "base/text/text.hpp"
#include "topology/sources/sysfs_internal.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <set>

namespace osora::topology::sysfs {
namespace {

struct Route {
    std::string interface;
    std::uint32_t network = 0, mask = 0;  // host order
};

std::optional<std::uint32_t> hex(std::string_view text) {
    std::uint32_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

template <class Each>
void for_each_line(std::string_view text, Each each) {
    while (!text.empty()) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        each(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// Lines "eth0 0000000A 00000000 0001 0 0 0 00FFFFFF ...": little endian on all supported machines.
std::vector<Route> read_routes(std::string const& text) {
    std::vector<Route> routes;
    for_each_line(text, [&](std::string_view line) {
        auto const words = words_of(line);
        if (words.size() < 8) return;
        auto const network = hex(words[1]);
        auto const mask = hex(words[7]);
        if (!network || !mask || *mask == 0) return;
        routes.push_back({std::string(words[0]), ntohl(*network), ntohl(*mask)});
    });
    return routes;
}

/// "|-- 10.0.0.4" followed by "/32 host LOCAL".
std::set<std::uint32_t> read_own_addresses(std::string const& text) {
    std::set<std::uint32_t> own;
    std::uint32_t last = 0;
    for_each_line(text, [&](std::string_view line) {
        line = trimmed(line);
        in_addr parsed{};
        if (line.starts_with("|-- ")) {
            bool const good =
                ::inet_pton(AF_INET, std::string(line.substr(4)).c_str(), &parsed) == 1;
            last = good ? ntohl(parsed.s_addr) : 0;
        } else if (last != 0 && line.starts_with("/32 host LOCAL")) {
            own.insert(last);
        }
    });
    return own;
}

std::string dotted(std::uint32_t address) {
    return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                       address & 255);
}

/// "fe80000000000000ba599ffffe650001 02 40 20 80 eth0".
void add_ipv6(std::string_view line, std::map<std::string, std::vector<std::string>>& addresses) {
    auto const words = words_of(line);
    if (words.size() != 6 || words[0].size() != 32) return;
    in6_addr address{};
    for (std::size_t i = 0; i < 16; ++i) {
        auto const byte = hex(words[0].substr(2 * i, 2));
        if (!byte) return;
        address.s6_addr[i] = static_cast<std::uint8_t>(*byte);
    }
    auto const length = hex(words[2]);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (!length || *length > 128) return;
    if (::inet_ntop(AF_INET6, &address, text.data(), text.size()) == nullptr) return;
    addresses[std::string(words[5])].push_back(fmt::format("{}/{}", text.data(), *length));
}

}  // namespace

std::map<std::string, std::vector<std::string>> read_addresses(fs::path const& root) {
    std::map<std::string, std::vector<std::string>> addresses;
    auto const routes = read_routes(text_in(root / "proc/net/route"));
    for (std::uint32_t const own : read_own_addresses(text_in(root / "proc/net/fib_trie"))) {
        Route const* best = nullptr;
        for (Route const& route : routes) {
            bool const holds = (own & route.mask) == route.network;
            if (holds && (best == nullptr || route.mask > best->mask)) best = &route;
        }
        if (best == nullptr) continue;
        addresses[best->interface].push_back(
            fmt::format("{}/{}", dotted(own), std::popcount(best->mask)));
    }
    for_each_line(text_in(root / "proc/net/if_inet6"),
                  [&](std::string_view line) { add_ipv6(line, addresses); });
    return addresses;
}

}  // namespace osora::topology::sysfs
