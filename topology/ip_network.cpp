#include "topology/ip_network.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>

namespace osora::topology {

std::string network_of(std::string const& address) {
    std::size_t const slash = address.find('/');
    if (slash == std::string::npos) return "";
    std::string const host = address.substr(0, slash);
    int bits = 0;
    auto const* const end = address.data() + address.size();
    auto const [rest, error] = std::from_chars(address.data() + slash + 1, end, bits);
    std::array<unsigned char, 16> bytes{};
    bool const v4 = ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1;
    if (!v4 && ::inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) return "";
    if (error != std::errc() || rest != end || bits < 1 || bits > (v4 ? 32 : 128)) return "";
    bool const loopback = v4 ? bytes[0] == 127 : host == "::1";
    bool const link_local =
        v4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
    if (loopback || link_local) return "";
    for (int bit = bits; bit < (v4 ? 32 : 128); ++bit) {
        bytes[static_cast<std::size_t>(bit / 8)] &=
            static_cast<unsigned char>(~(0x80U >> (bit % 8)));
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
    return fmt::format("{}/{}", text.data(), bits);
}

}  // namespace osora::topology
