// The sockets of an HTTP server: reads requests, writes what its owner answers, sends events.
// Bounded: connections, bytes of a request, bytes that wait for a reader, time of each. Private to
// shells (Asio inside). docs/rfc/030 has the limits of the dashboard, docs/rfc/031 those of
// metrics.
#pragma once

#include "base/http/event_queue.hpp"
#include "base/http/web_request.hpp"
#include "base/result.hpp"
#include "base/task_group.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace osora {

struct WebLimits {
    std::size_t connections = 64;                 // then 503
    std::size_t refusals = 16;                    // being sent at a time; then closed at once
    std::chrono::milliseconds request{10'000};    // to send a request
    std::chrono::milliseconds response{30'000};   // to take a response, or an event
    std::chrono::milliseconds heartbeat{15'000};  // of /events: finds readers that are gone
    std::chrono::milliseconds poll{500};          // of the journals, while somebody reads events
};

/// What the server calls; all of it on its thread.
struct WebCalls {
    std::function<WebResponse(WebRequest const&)> answer;
    std::function<WebResponse(int status, std::string const& text)> plain;
    /// New events, and those for a reader that has just come; empty when no response is_events.
    std::function<std::vector<std::string>()> poll = {}, newest = {};
};

/// With readers of events, its tasks must have ended before it does.
class HttpServer {
public:
    HttpServer(TaskGroup& tasks, WebCalls calls, WebLimits limits = {});
    HttpServer(HttpServer const&) = delete;
    HttpServer& operator=(HttpServer const&) = delete;

    /// unreachable: it cannot listen there; of a port in use the message names a free one. Port 0:
    /// any free one. `setting` is how the user writes the address: "--listen ".
    [[nodiscard]] Result<void> listen(ListenAddress const& where, std::string_view setting);
    [[nodiscard]] int port() const { return port_; }
    /// Closes the listening socket: a second server can use the port at once.
    void close();

private:
    static constexpr std::size_t kHeaderBytesMax = 16 << 10;
    struct Connection {
        explicit Connection(boost::asio::ip::tcp::socket socket) : stream(std::move(socket)) {}
        boost::beast::tcp_stream stream;
        boost::beast::flat_buffer buffer{2 * kHeaderBytesMax};
        std::array<char, 4096> rest{};  // what follows a refused request
    };
    using Shared = std::shared_ptr<Connection>;
    struct Reader {
        Reader(Connection& its, boost::asio::any_io_executor executor)
            : connection(its), wake(std::move(executor)) {}
        Connection& connection;
        boost::asio::steady_timer wake;
        EventQueue queue;
    };

    boost::asio::awaitable<void> accept_loop();
    boost::asio::awaitable<void> serve(Shared connection);
    boost::asio::awaitable<void> refuse(Shared connection);
    /// Whether the connection stays open for another request.
    boost::asio::awaitable<bool> serve_one(Shared connection);
    boost::asio::awaitable<bool> write(Shared connection, WebResponse response, bool is_head,
                                       bool keep_open);
    boost::asio::awaitable<void> send_events(Shared connection, WebResponse response);
    boost::asio::awaitable<void> send_queue(Shared connection, std::shared_ptr<Reader> reader);
    boost::asio::awaitable<void> finish(Shared connection);
    boost::asio::awaitable<void> poll_loop();
    void push(Reader& reader, std::string const& event);

    TaskGroup& tasks_;
    WebCalls calls_;
    WebLimits limits_;
    boost::asio::ip::tcp::acceptor acceptor_;
    int port_ = 0;
    std::shared_ptr<std::size_t> open_ = std::make_shared<std::size_t>();
    std::shared_ptr<std::size_t> refusing_ = std::make_shared<std::size_t>();
    std::list<std::shared_ptr<Reader>> readers_;
};

}  // namespace osora
