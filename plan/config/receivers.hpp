// Receivers of notifications ([notify] of the run file): a URL that gets a POST, an address that
// gets a mail. Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::plan {

struct Webhook {
    bool tls = false;       // https
    std::string host;       // name, IPv4 or IPv6 address; without brackets
    int port = 80;          // 1..65535
    std::string target;     // "/services/T0?key=1"; begins with '/'
    std::string user_info;  // "name:password", percent signs decoded; "" = none
};

constexpr std::size_t kWebhookBytesMax = 2048;
constexpr std::size_t kMailBytesMax = 254;  // RFC 5321, 4.5.3.1.3

/// invalid_input says what is wrong, without the URL, which may hold secrets.
[[nodiscard]] Result<Webhook> parse_webhook(std::string_view url);

/// "http://host:80/...": what records and messages may show. Path and query of a webhook are often
/// its secret, and a user name may be one.
[[nodiscard]] std::string masked(Webhook const& webhook);
/// The same for the text of a run file; "[redacted]" when it is no URL; "" stays "".
[[nodiscard]] std::string masked_webhook(std::string_view url);
/// Whether `url` is the form that records show: its secret part is not known.
[[nodiscard]] bool is_masked_webhook(std::string_view url);

/// One address, name@host, without blanks, control characters and what separates addresses.
[[nodiscard]] Result<void> check_mail_address(std::string_view address);

}  // namespace osora::plan
