// One thread: a page that takes long to make delays the others. Only named things in co_await
// expressions (g++ 12).
#include "base/http/http_server_internal.hpp"

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>

namespace osora {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

/// Errors are values, cancellation ends the coroutine.
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

constexpr int kEventSendBuffer = 16 << 10;  // so that a reader that does not read is noticed
constexpr int kRestReads = 64;              // of what follows a refused request
constexpr int kPortsTried = 100;
constexpr int kPortLast = 65535;

/// Adds one while it lives. The count may outlive the server: a loop that was stopped destroys its
/// coroutines last.
class Counted {
public:
    explicit Counted(std::shared_ptr<std::size_t> count) : count_(std::move(count)) { ++*count_; }
    ~Counted() { --*count_; }
    Counted(Counted const&) = delete;
    Counted& operator=(Counted const&) = delete;

private:
    std::shared_ptr<std::size_t> count_;
};

std::string field_of(http::fields const& fields, http::field name) {
    if (fields.count(name) != 1) return {};  // two of them: which one counts is anybody's guess
    auto const value = fields.at(name);
    return {value.data(), value.size()};
}

WebRequest request_of(http::request_header<> const& header) {
    auto const method = header.method_string(), target = header.target();
    WebRequest request{.method = {method.data(), method.size()},
                       .target = {target.data(), target.size()},
                       .host = field_of(header, http::field::host),
                       .origin = field_of(header, http::field::origin),
                       .cookie = field_of(header, http::field::cookie),
                       .authorization = field_of(header, http::field::authorization),
                       .accept = field_of(header, http::field::accept)};
    if (header.count(http::field::origin) > 1) request.origin = "null";
    return request;
}

template <class Body>
http::response<Body> head_of_response(WebResponse const& from, bool keep_open) {
    http::response<Body> response(http::int_to_status(static_cast<unsigned>(from.status)), 11);
    response.set(http::field::content_type, from.type);
    for (auto const& [name, value] : from.headers) response.insert(name, value);
    response.keep_alive(keep_open);
    return response;
}

/// The status for a request that could not be read; 0: there is nobody to answer.
int status_for(error_code error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
    if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
    bool const is_bad =
        error.category() == http::make_error_code(http::error::bad_method).category();
    return is_bad ? 400 : 0;
}

/// Of a parser that has read the header.
bool has_body(http::request_parser<http::empty_body> const& parser) {
    auto const length = parser.content_length();
    return parser.chunked() || (length && *length > 0);
}

tcp::endpoint endpoint_of(ListenAddress const& where, error_code& error) {
    auto const address = asio::ip::make_address(where.address, error);
    return {address, static_cast<unsigned short>(where.port)};
}

error_code open_at(tcp::acceptor& acceptor, ListenAddress const& where) {
    error_code error, ignored;
    auto const endpoint = endpoint_of(where, error);
    if (!error) acceptor.open(endpoint.protocol(), error);
    // A server that has just ended leaves its port in TIME_WAIT.
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) acceptor.close(ignored);
    return error;
}

/// The next port above `where` that can be listened on; 0: none of the next hundred.
int free_port_after(tcp::acceptor& acceptor, ListenAddress where) {
    for (int tried = 0; tried < kPortsTried && where.port < kPortLast; ++tried) {
        ++where.port;
        if (open_at(acceptor, where)) continue;
        error_code ignored;
        acceptor.close(ignored);
        return where.port;
    }
    return 0;
}

}  // namespace

HttpServer::HttpServer(TaskGroup& tasks, WebCalls calls, WebLimits limits)
    : tasks_(tasks), calls_(std::move(calls)), limits_(limits), acceptor_(tasks.executor()) {}

Result<void> HttpServer::listen(ListenAddress const& where, std::string_view setting) {
    auto const error = open_at(acceptor_, where);
    if (error == asio::error::address_in_use) {
        int const free = free_port_after(acceptor_, where);
        auto next = where;
        next.port = free;
        return Error{
            Errc::unreachable,
            fmt::format("{}{}: the port is in use{}", setting, where.text(),
                        free > 0 ? fmt::format("; {}{} is free", setting, next.text()) : "")};
    }
    if (error) {
        return Error{Errc::unreachable,
                     fmt::format("{}{}: {}", setting, where.text(), error.message())};
    }
    port_ = acceptor_.local_endpoint().port();
    tasks_.spawn("accept connections", accept_loop());
    if (calls_.poll) tasks_.spawn("poll for events", poll_loop());
    return {};
}

void HttpServer::close() {
    error_code ignored;
    acceptor_.close(ignored);
}

asio::awaitable<void> HttpServer::accept_loop() {
    asio::steady_timer pause(tasks_.executor());
    while (true) {
        tcp::socket socket(tasks_.executor());
        auto const [error] = co_await acceptor_.async_accept(socket, kAsTuple);
        if (error) {  // no descriptor is left, or the peer is already gone
            pause.expires_after(std::chrono::milliseconds(100));
            co_await pause.async_wait(kAsTuple);
            continue;
        }
        auto const connection = std::make_shared<Connection>(std::move(socket));
        if (*open_ < limits_.connections) {
            tasks_.spawn("connection", serve(connection));
        } else if (*refusing_ < limits_.refusals) {
            tasks_.spawn("refuse connection", refuse(connection));
        }
    }
}

asio::awaitable<void> HttpServer::refuse(Shared connection) {
    Counted const counted(refusing_);
    auto const response = calls_.plain(503, "too many connections; close one\n");
    co_await write(connection, response, false, false);
    co_await finish(connection);
}

asio::awaitable<void> HttpServer::serve(Shared connection) {
    Counted const counted(open_);
    bool more = true;
    while (more) more = co_await serve_one(connection);
}

asio::awaitable<bool> HttpServer::serve_one(Shared connection) {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kHeaderBytesMax);
    connection->stream.expires_after(limits_.request);
    auto const [error, bytes] =
        co_await http::async_read_header(connection->stream, connection->buffer, parser, kAsTuple);
    int refused = error ? status_for(error) : 0;
    if (error && refused == 0) co_return false;
    if (!error && has_body(parser)) refused = 413;
    if (refused != 0) {
        auto const response =
            calls_.plain(refused, refused == 431   ? "the header of the request is too long\n"
                                  : refused == 413 ? "a request must not have a body\n"
                                                   : "this is no HTTP/1.1 request\n");
        co_await write(connection, response, false, false);
        co_await finish(connection);
        co_return false;
    }
    auto const request = request_of(parser.get());
    bool const is_head = request.method == "HEAD";
    auto const response = calls_.answer(request);
    if (response.is_events && !is_head) {
        co_await send_events(connection, response);
        co_return false;
    }
    bool const keep_open = parser.get().keep_alive();
    bool const open = co_await write(connection, response, is_head, keep_open);
    co_return open;
}

asio::awaitable<bool> HttpServer::write(Shared connection, WebResponse response, bool is_head,
                                        bool keep_open) {
    connection->stream.expires_after(limits_.response);
    if (is_head || response.status == 204) {
        auto head = head_of_response<http::empty_body>(response, keep_open);
        if (is_head) head.content_length(response.body.size());
        auto const [error, bytes] = co_await http::async_write(connection->stream, head, kAsTuple);
        co_return !error && keep_open;
    }
    auto whole = head_of_response<http::string_body>(response, keep_open);
    whole.body() = std::move(response.body);
    whole.prepare_payload();
    auto const [error, bytes] = co_await http::async_write(connection->stream, whole, kAsTuple);
    co_return !error && keep_open;
}

/// Reads the rest of what was sent, within bounds: closing before would reset the connection, and
/// the peer might lose the response.
asio::awaitable<void> HttpServer::finish(Shared connection) {
    error_code ignored;
    connection->stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    connection->stream.expires_after(std::chrono::seconds(2));
    auto const into = asio::buffer(connection->rest);
    for (int reads = 0; reads < kRestReads; ++reads) {
        auto const [error, bytes] = co_await connection->stream.async_read_some(into, kAsTuple);
        if (error) co_return;
    }
}

asio::awaitable<void> HttpServer::send_events(Shared connection, WebResponse response) {
    error_code ignored;
    connection->stream.socket().set_option(asio::socket_base::send_buffer_size(kEventSendBuffer),
                                           ignored);
    auto head = head_of_response<http::empty_body>(response, false);
    connection->stream.expires_after(limits_.response);
    auto const [error, bytes] = co_await http::async_write(connection->stream, head, kAsTuple);
    if (error) co_return;
    auto const reader = std::make_shared<Reader>(*connection, tasks_.executor());
    auto const at = readers_.insert(readers_.end(), reader);
    auto const leave = [this, at](void*) { readers_.erase(at); };
    std::unique_ptr<void, decltype(leave)> const left(this, leave);
    push(*reader, "retry: 2000\n\n");
    for (auto const& each : calls_.newest()) push(*reader, each);
    co_await send_queue(connection, reader);
}

asio::awaitable<void> HttpServer::send_queue(Shared connection, std::shared_ptr<Reader> reader) {
    while (true) {
        if (reader->queue.is_empty()) {
            reader->wake.expires_after(limits_.heartbeat);
            auto const [woken] = co_await reader->wake.async_wait(kAsTuple);
            if (!woken) push(*reader, ": osora is here\n\n");
            continue;
        }
        auto const text = reader->queue.take();
        auto const bytes = asio::buffer(text);
        connection->stream.expires_after(limits_.response);
        auto const [error, sent] = co_await asio::async_write(connection->stream, bytes, kAsTuple);
        if (error) co_return;
        reader->queue.sent();
    }
}

void HttpServer::push(Reader& reader, std::string const& event) {
    if (reader.queue.push(event)) {
        reader.wake.cancel();
    } else {
        reader.connection.stream.close();  // its write fails
    }
}

asio::awaitable<void> HttpServer::poll_loop() {
    asio::steady_timer pause(tasks_.executor());
    while (true) {
        pause.expires_after(limits_.poll);
        co_await pause.async_wait(kAsTuple);
        if (readers_.empty()) continue;
        for (auto const& event : calls_.poll()) {
            for (auto const& reader : readers_) push(*reader, event);
        }
    }
}

}  // namespace osora
