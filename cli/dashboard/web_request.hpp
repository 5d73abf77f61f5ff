// Requests and responses of `osora dashboard` as values, and the parts of a request's target. Pure.
#pragma once

#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::cli {

struct WebRequest {
    std::string method, target;
    std::string host = {}, origin = {}, cookie = {}, authorization = {};  // headers; empty: none
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
    int port = 8265;

    [[nodiscard]] bool is_loopback() const;
    [[nodiscard]] bool is_everywhere() const;
    /// With the brackets of an IPv6 address.
    [[nodiscard]] std::string text() const;
};
/// invalid_input says what a valid one looks like.
[[nodiscard]] Result<ListenAddress> parse_listen(std::string_view text);

}  // namespace osora::cli
