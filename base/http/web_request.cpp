#include "base/http/web_request.hpp"

#include "base/text/percent.hpp"
#include "base/text/text.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora {
namespace {

constexpr int kPortMax = 65535;

/// A blank of a query may be written as a plus sign.
Result<std::string> query_decoded(std::string_view text) {
    std::string plain(text);
    std::ranges::replace(plain, '+', ' ');
    return percent_decoded(plain);
}

}  // namespace

Result<WebTarget> parse_target(std::string_view target) {
    if (!target.starts_with('/')) return invalid("the address must begin with a slash");
    auto const mark = target.find('?');
    WebTarget parsed;
    for (auto const part : split(target.substr(0, mark).substr(1), '/')) {
        OSORA_TRY(auto name, percent_decoded(part));
        parsed.path.push_back(std::move(name));
    }
    if (parsed.path.back().empty()) parsed.path.pop_back();  // "/" and a slash at the end
    if (mark == std::string_view::npos) return parsed;
    for (auto const part : split(target.substr(mark + 1), '&')) {
        if (part.empty()) continue;
        auto const equals = std::min(part.find('='), part.size());
        OSORA_TRY(auto key, query_decoded(part.substr(0, equals)));
        OSORA_TRY(auto value, query_decoded(part.substr(std::min(equals + 1, part.size()))));
        if (!parsed.query.emplace(key, std::move(value)).second) {
            return invalid(key + " is given twice");
        }
    }
    return parsed;
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
    if (colon == std::string_view::npos) return invalid("the port is missing");
    auto const port = whole_number<int>(text.substr(colon + 1));
    if (!port || *port < 0 || *port > kPortMax) {
        return invalid(fmt::format("the port must be 0 (any free one) to {}", kPortMax));
    }
    std::string name(text.substr(0, colon));
    if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
        name = name.substr(1, name.size() - 2);
    } else if (name.find(':') != std::string::npos) {
        return invalid("an IPv6 address needs brackets");
    }
    if (name.empty() || name == "localhost") name = "127.0.0.1";
    if (!is_ip_address(name)) return invalid(name + " is not an IP address");
    return ListenAddress{name, *port};
}

WebNames names_for(ListenAddress const& listen, std::string const& host) {
    WebNames names;
    if (!listen.is_everywhere()) names.hosts.push_back(listen.address);
    for (char const* name : {"localhost", "127.0.0.1", "::1"}) names.hosts.emplace_back(name);
    if (!listen.is_loopback()) {
        auto const full = lower(host);
        names.hosts.push_back(full);
        names.hosts.push_back(full.substr(0, full.find('.')));
        names.any_address = listen.is_everywhere();
    }
    return names;
}

std::string refusal(WebRequest const& request, WebNames const& names) {
    auto const host = host_of(request.host);
    bool const known = std::ranges::find(names.hosts, host) != names.hosts.end() ||
                       (names.any_address && is_ip_address(host));
    if (host.empty() || !known) {
        return fmt::format("Host: {} is not a name of this server; use {}",
                           request.host.empty() ? "(none)" : request.host,
                           names.hosts.empty() ? "its IP address" : names.hosts.front());
    }
    if (!request.origin.empty() && lower(request.origin) != "http://" + lower(request.host)) {
        return fmt::format("Origin: {} is another site", request.origin);
    }
    return {};
}

void add_guards(WebResponse& response, std::string const& policy) {
    response.headers.emplace_back("Content-Security-Policy", policy + "; frame-ancestors 'none'");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("X-Frame-Options", "DENY");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
    response.headers.emplace_back("Cache-Control", "no-store");
}

WebResponse plain_response(int status, std::string const& text) {
    WebResponse response{
        .status = status, .type = "text/plain; charset=utf-8", .headers = {}, .body = text};
    add_guards(response, "default-src 'none'");
    return response;
}

WebResponse method_refused() {
    auto response = plain_response(405, "this server only answers GET and HEAD\n");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
}

}  // namespace osora
