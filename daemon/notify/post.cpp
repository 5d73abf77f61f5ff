#include "daemon/notify/post.hpp"

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"
#include "base/version.hpp"
#include "plan/config/receivers.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <unistd.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/describe.hpp>

#include <array>
#include <csignal>
#include <string>

namespace osora::daemon {

struct PostRequest {
    std::string url, body;
};
BOOST_DESCRIBE_STRUCT(PostRequest, (), (url, body))

namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;

constexpr std::size_t kPostBytesMax = 1 << 20;

std::string read_to_end(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    while (text.size() < kPostBytesMax) {
        ssize_t const got = ::read(fd, buffer.data(), buffer.size());
        if (got <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

/// "connection refused": as the rest of osora writes it.
Error net_error(std::string_view step, error_code const& error) {
    std::string why = error.message();
    if (why.size() > 1 && why[0] >= 'A' && why[0] <= 'Z' && why[1] >= 'a') {
        why[0] = static_cast<char>(why[0] - 'A' + 'a');
    }
    return {Errc::unreachable, fmt::format("{}{}{}", step, step.empty() ? "" : ": ", why)};
}

std::string base64_of(std::string_view text) {
    namespace base64 = boost::beast::detail::base64;
    std::string encoded(base64::encoded_size(text.size()), '\0');
    encoded.resize(base64::encode(encoded.data(), text.data(), text.size()));
    return encoded;
}

http::request<http::string_body> request_of(plan::Webhook const& to, std::string body) {
    http::request<http::string_body> request(http::verb::post, to.target, 11);
    bool const v6 = to.host.find(':') != std::string::npos;
    bool const usual = to.port == (to.tls ? 443 : 80);
    request.set(http::field::host, fmt::format("{}{}{}{}", v6 ? "[" : "", to.host, v6 ? "]" : "",
                                               usual ? "" : fmt::format(":{}", to.port)));
    request.set(http::field::user_agent, fmt::format("osora/{}", kVersion));
    request.set(http::field::content_type, "application/json");
    request.set(http::field::connection, "close");
    if (!to.user_info.empty()) {
        request.set(http::field::authorization, "Basic " + base64_of(to.user_info));
    }
    request.body() = std::move(body);
    request.prepare_payload();
    return request;
}

template <class Stream>
Result<void> exchange(Stream& stream, http::request<http::string_body> const& request) {
    error_code error;
    http::write(stream, request, error);
    if (error) return net_error("send", error);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::empty_body> parser;
    http::read_header(stream, buffer, parser, error);
    if (error) return net_error("answer", error);
    int const status = static_cast<int>(parser.get().result_int());
    if (status >= 200 && status < 300) return {};
    std::string reason = printable(std::string(parser.get().reason()));
    shorten_utf8(reason, 80);
    bool const redirect = status >= 300 && status < 400;
    return Error{Errc::io, fmt::format("answered {}{}{}{}", status, reason.empty() ? "" : " ",
                                       reason, redirect ? "; redirects are not followed" : "")};
}

Result<void> exchange_tls(tcp::socket socket, plan::Webhook const& to,
                          http::request<http::string_body> const& request) {
    error_code error;
    net::ssl::context tls(net::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
    tls.set_default_verify_paths(error);
    if (error) return net_error("TLS certificates", error);
    net::ssl::stream<tcp::socket> stream(std::move(socket), tls);
    stream.set_verify_mode(net::ssl::verify_peer, error);
    stream.set_verify_callback(net::ssl::host_name_verification(to.host), error);
    bool const is_name = to.host.find_first_not_of("0123456789.:") != std::string::npos;
    if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), to.host.c_str());
    stream.handshake(net::ssl::stream_base::client, error);
    if (error) return net_error("TLS", error);
    return exchange(stream, request);
}

Result<void> post(PostRequest request) {
    OSORA_TRY(auto const to, plan::parse_webhook(request.url));
    net::io_context context(1);
    tcp::resolver resolver(context);
    error_code error;
    auto const found = resolver.resolve(to.host, std::to_string(to.port), error);
    if (error) return net_error("name of the host", error);
    tcp::socket socket(context);
    net::connect(socket, found, error);
    if (error) return net_error("", error);
    auto const message = request_of(to, std::move(request.body));
    if (to.tls) return exchange_tls(std::move(socket), to, message);
    return exchange(socket, message);
}

}  // namespace

int post_from(int fd) {
    std::signal(SIGPIPE, SIG_IGN);
    auto request = protocol::decode<PostRequest>(read_to_end(fd));
    auto const posted = request.has_value() ? post(std::move(*request))
                                            : Result<void>(invalid("no request on stdin"));
    if (posted.has_value()) return 0;
    fmt::print("{}\n", posted.error().message);
    return 1;
}

}  // namespace osora::daemon
