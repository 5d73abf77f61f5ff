// The sockets of `osora dashboard`: reads requests, writes what the router answers, sends events.
// Bounded: connections, bytes of a request, bytes that wait for a reader, time of each. Private to
// the command (Asio inside). docs/rfc/030 has the limits.
#pragma once

#include "base/result.hpp"
#include "base/task_group.hpp"
#include "cli/dashboard/event_queue.hpp"
#include "cli/dashboard/web_request.hpp"

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
#include <vector>

namespace osora::cli {

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
    std::function<std::vector<std::string>()> poll;    // new events
    std::function<std::vector<std::string>()> newest;  // for a reader that has just come
};

class HttpServer {
public:
    HttpServer(TaskGroup& tasks, WebCalls calls, WebLimits limits = {});
    HttpServer(HttpServer const&) = delete;
    HttpServer& operator=(HttpServer const&) = delete;

    /// unreachable: it cannot listen there; of a port in use the message names a free one. Port 0:
    /// any free one.
    [[nodiscard]] Result<void> listen(ListenAddress const& where);
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
    std::size_t open_ = 0, refusing_ = 0;
    std::list<std::shared_ptr<Reader>> readers_;
};

}  // namespace osora::cli
