// RFC 3986 as far as a webhook needs it: no relative references, no fragments.
#include "plan/config/receivers.hpp"

#include "base/secrets.hpp"
#include "base/text/percent.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::plan {
namespace {

constexpr std::string_view kHidden = "/...";

bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
}

bool is_address_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
           c == '.';
}

Result<void> read_scheme(std::string_view& url, Webhook& webhook) {
    std::size_t const end = url.find("://");
    std::string const scheme = end == url.npos ? "" : lower(url.substr(0, end));
    if (scheme != "http" && scheme != "https") {
        return invalid("must begin with http:// or https://, as in http://chat.example/hook");
    }
    webhook.tls = scheme == "https";
    webhook.port = webhook.tls ? 443 : 80;
    url.remove_prefix(end + 3);
    return {};
}

/// Takes the host off the front of `place`, "host:port" or "[::1]:port".
Result<void> read_host(std::string_view& place, Webhook& webhook) {
    bool const bracket = place.starts_with('[');
    std::size_t const end = bracket ? place.find(']') : place.find(':');
    if (bracket && end == place.npos) return invalid("'[' without ']' around an IPv6 address");
    webhook.host = place.substr(bracket ? 1 : 0, bracket ? end - 1 : end);
    place.remove_prefix(std::min(place.size(), bracket ? end + 1 : end));
    if (webhook.host.empty()) return invalid("names no host, as in http://chat.example/hook");
    bool const good = std::ranges::all_of(webhook.host, bracket ? is_address_char : is_host_char);
    if (good && webhook.host.size() <= 253) return {};
    return invalid("the host is not valid: letters, digits, '.', '-' and '_', or [IPv6 address]");
}

Result<void> read_port(std::string_view place, Webhook& webhook) {
    if (place.empty()) return {};
    auto const port = place.starts_with(':') ? whole_number<int>(place.substr(1)) : std::nullopt;
    if (!port) return invalid("the port is not a number between 1 and 65535");
    if (*port < 1 || *port > 65535) {
        return invalid(fmt::format("port {} is not between 1 and 65535; nearest valid: {}", *port,
                                   std::clamp(*port, 1, 65535)));
    }
    webhook.port = *port;
    return {};
}

}  // namespace

Result<Webhook> parse_webhook(std::string_view url) {
    if (url.size() > kWebhookBytesMax) {
        return invalid(fmt::format("has {} bytes; at most {}", url.size(), kWebhookBytesMax));
    }
    bool const plain = std::ranges::all_of(url, [](char c) { return c > ' ' && c < '\x7f'; });
    if (!plain) return invalid("contains a blank or a byte that is not ASCII; write it as %XX");
    Webhook webhook;
    OSORA_TRY_VOID(read_scheme(url, webhook));
    if (url.find('#') != url.npos) return invalid("contains '#'; leave out the fragment");
    std::size_t const path = std::min(url.find_first_of("/?"), url.size());
    std::string_view place = url.substr(0, path);
    webhook.target = url.substr(path);
    if (!webhook.target.starts_with('/')) webhook.target.insert(0, "/");
    if (std::size_t const at = place.rfind('@'); at != place.npos) {
        OSORA_TRY(webhook.user_info, percent_decoded(place.substr(0, at)));
        place.remove_prefix(at + 1);
    }
    OSORA_TRY_VOID(read_host(place, webhook));
    OSORA_TRY_VOID(read_port(place, webhook));
    return webhook;
}

std::string masked(Webhook const& webhook) {
    bool const v6 = webhook.host.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}{}", webhook.tls ? "https" : "http", v6 ? "[" : "",
                       webhook.host, v6 ? "]" : "", webhook.port, kHidden);
}

std::string masked_webhook(std::string_view url) {
    if (url.empty()) return {};
    auto const webhook = parse_webhook(url);
    return webhook.has_value() ? masked(*webhook) : std::string(kRedacted);
}

bool is_masked_webhook(std::string_view url) {
    auto const webhook = parse_webhook(url);
    return url == kRedacted || (webhook.has_value() && webhook->target == kHidden);
}

Result<void> check_mail_address(std::string_view address) {
    constexpr std::string_view kForbidden = "\"(),:;<>[\\]";
    std::size_t const at = address.find('@');
    bool const one = at != address.npos && at == address.rfind('@');
    bool const plain = std::ranges::all_of(address, [&](char c) {
        return c > ' ' && c < '\x7f' && kForbidden.find(c) == kForbidden.npos;
    });
    bool const whole = one && at > 0 && at + 1 < address.size();
    if (whole && plain && !address.starts_with('-') && address.size() <= kMailBytesMax) return {};
    return invalid("must be one address of ASCII characters, as in ada@example.org");
}

}  // namespace osora::plan
