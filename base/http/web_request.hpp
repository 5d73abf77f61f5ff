// Requests and responses of HTTP servers as values, the parts of a request's target, which requests
// are refused, and addresses to listen on. Pure.
#pragma once

#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora {

struct WebRequest {
    std::string method, target;
    // Headers; empty: none.
    std::string host = {}, origin = {}, cookie = {}, authorization = {}, accept = {};
};

struct WebResponse {
    int status = 200;
    std::string type = "text/html; charset=utf-8";
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string body = {};
    bool is_events = false;  // the connection stays open for events of runs
};

/// "/run/a%20b?x=1" -> {"run", "a b"}, {x: 1}. Names are decoded after the path was split, so that
/// a slash in a name stays in it.
struct WebTarget {
    std::vector<std::string> path;  // empty: "/"
    std::map<std::string, std::string> query;
};
/// invalid_input: not an absolute path, a bad %-code, a key that is given twice.
[[nodiscard]] Result<WebTarget> parse_target(std::string_view target);

/// The name of "name:port", "[::1]:port" or "name", in lower case; empty when it is none of these.
[[nodiscard]] std::string host_of(std::string_view header);
[[nodiscard]] bool is_ip_address(std::string_view text);

/// The value of one cookie; empty: not sent.
[[nodiscard]] std::string cookie_of(std::string_view header, std::string_view name);

/// "127.0.0.1:8265", "[::1]:0", "localhost:8265", ":8265" (loopback).
struct ListenAddress {
    std::string address = "127.0.0.1";
    int port = 0;

    [[nodiscard]] bool is_loopback() const;
    [[nodiscard]] bool is_everywhere() const;
    /// With the brackets of an IPv6 address.
    [[nodiscard]] std::string text() const;
};
/// invalid_input says what is wrong: "the port is missing".
[[nodiscard]] Result<ListenAddress> parse_listen(std::string_view text);

/// The names by which clients may call a server.
struct WebNames {
    std::vector<std::string> hosts;  // names in Host that are this server, in lower case
    bool any_address = false;        // every IP address in Host is: it listens on all
};
/// Of a server on `listen`; `host` is the name of this machine.
[[nodiscard]] WebNames names_for(ListenAddress const& listen, std::string const& host);

/// Why a request is refused with 403: Host leads to another site, or a page of another site sends
/// it; empty: it is not.
[[nodiscard]] std::string refusal(WebRequest const& request, WebNames const& names);

/// Adds what every response says, also errors. `policy` begins the Content-Security-Policy.
void add_guards(WebResponse& response, std::string const& policy);

/// Text with these headers: for errors, and for requests that cannot be read.
[[nodiscard]] WebResponse plain_response(int status, std::string const& text);
/// 405 for a request that is neither GET nor HEAD.
[[nodiscard]] WebResponse method_refused();

}  // namespace osora
