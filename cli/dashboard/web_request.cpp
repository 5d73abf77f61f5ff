#include "cli/dashboard/web_request.hpp"

#include "base/text/text.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <optional>

namespace osora::cli {
namespace {

constexpr int kPortMax = 65535;

std::optional<int> hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    char const small = static_cast<char>(digit | 0x20);
    if (small >= 'a' && small <= 'f') return small - 'a' + 10;
    return {};
}

Result<std::string> url_decoded(std::string_view text, bool is_query) {
    std::string decoded;
    while (!text.empty()) {
        char next = text.front();
        std::size_t taken = 1;
        if (next == '+' && is_query) next = ' ';
        if (text.front() == '%') {
            auto const high = text.size() > 2 ? hex_digit(text[1]) : std::nullopt;
            auto const low = text.size() > 2 ? hex_digit(text[2]) : std::nullopt;
            if (!high || !low) {
                return invalid(
                    fmt::format("{}: % must be followed by two hex digits", text.substr(0, 3)));
            }
            next = static_cast<char>(*high * 16 + *low);
            taken = 3;
        }
        decoded += next;
        text.remove_prefix(taken);
    }
    return decoded;
}

bool is_unreserved(char each) {
    bool const letter = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
    return letter || (each >= '0' && each <= '9') || each == '-' || each == '_' || each == '.' ||
           each == '~';
}

Error bad_listen(std::string_view text, std::string_view why) {
    return invalid(
        fmt::format("--listen {}: {}; write it as 127.0.0.1:8265, [::1]:8265 or, with "
                    "--token-file, 0.0.0.0:8265",
                    text, why));
}

}  // namespace

Result<WebTarget> parse_target(std::string_view target) {
    if (!target.starts_with('/')) return invalid("the address must begin with a slash");
    auto const mark = target.find('?');
    WebTarget parsed;
    for (auto const part : split(target.substr(0, mark).substr(1), '/')) {
        OSORA_TRY(auto name, url_decoded(part, false));
        parsed.path.push_back(std::move(name));
    }
    if (parsed.path.back().empty()) parsed.path.pop_back();  // "/" and a slash at the end
    if (mark == std::string_view::npos) return parsed;
    for (auto const part : split(target.substr(mark + 1), '&')) {
        if (part.empty()) continue;
        auto const equals = std::min(part.find('='), part.size());
        OSORA_TRY(auto key, url_decoded(part.substr(0, equals), true));
        OSORA_TRY(auto value, url_decoded(part.substr(std::min(equals + 1, part.size())), true));
        if (!parsed.query.emplace(key, std::move(value)).second) {
            return invalid(key + " is given twice");
        }
    }
    return parsed;
}

std::string url_encoded(std::string_view text) {
    std::string encoded;
    for (char const each : text) {
        if (is_unreserved(each)) {
            encoded += each;
        } else {
            encoded += fmt::format("%{:02X}", static_cast<unsigned char>(each));
        }
    }
    return encoded;
}

std::string host_of(std::string_view header) {
    std::string const host = lower(header);
    std::size_t end = host.find(':');
    std::string name = host.substr(0, end);
    if (host.starts_with('[')) {
        auto const bracket = host.find(']');
        if (bracket == std::string::npos) return {};
        name = host.substr(1, bracket - 1);
        end = bracket + 1 < host.size() ? bracket + 1 : std::string::npos;
        if (!is_ip_address(name)) return {};
    }
    if (end == std::string::npos) return name;
    auto const port = whole_number<int>(host.substr(end + 1));
    bool const is_port = host[end] == ':' && port && *port > 0 && *port <= kPortMax;
    return is_port ? name : std::string();
}

bool is_ip_address(std::string_view text) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    std::string const whole(text);
    return ::inet_pton(AF_INET, whole.c_str(), bytes.data()) == 1 ||
           ::inet_pton(AF_INET6, whole.c_str(), bytes.data()) == 1;
}

std::string cookie_of(std::string_view header, std::string_view name) {
    for (auto const each : split(header, ';')) {
        auto const pair = trimmed(each);
        auto const equals = pair.find('=');
        if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
            return std::string(pair.substr(equals + 1));
        }
    }
    return {};
}

bool ListenAddress::is_loopback() const {
    return address == "::1" || address.starts_with("127.");
}

bool ListenAddress::is_everywhere() const {
    return address == "0.0.0.0" || address == "::";
}

std::string ListenAddress::text() const {
    bool const is_six = address.find(':') != std::string::npos;
    return fmt::format(fmt::runtime(is_six ? "[{}]:{}" : "{}:{}"), address, port);
}

Result<ListenAddress> parse_listen(std::string_view text) {
    auto const colon = text.rfind(':');
    if (colon == std::string_view::npos) return bad_listen(text, "the port is missing");
    auto const port = whole_number<int>(text.substr(colon + 1));
    if (!port || *port < 0 || *port > kPortMax) {
        return bad_listen(text, fmt::format("the port must be 0 (any free one) to {}", kPortMax));
    }
    std::string name(text.substr(0, colon));
    if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
        name = name.substr(1, name.size() - 2);
    } else if (name.find(':') != std::string::npos) {
        return bad_listen(text, "an IPv6 address needs brackets");
    }
    if (name.empty() || name == "localhost") name = "127.0.0.1";
    if (!is_ip_address(name)) return bad_listen(text, name + " is not an IP address");
    return ListenAddress{name, *port};
}

}  // namespace osora::cli
