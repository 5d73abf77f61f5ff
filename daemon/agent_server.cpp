// A connection that sends anything but messages is dropped; the run does not notice.
#include "daemon/agent_server.hpp"

#include "protocol/message.hpp"

#include <fmt/format.h>
#include <boost/asio/steady_timer.hpp>

namespace osora::daemon {

using asio::ip::tcp;

AgentServer::AgentServer(TaskGroup& tasks, Logger& log, OnInput on_input)
    : tasks_(tasks), log_(log), on_input_(std::move(on_input)), acceptor_(tasks.executor()) {}

Result<void> AgentServer::listen(std::string const& address) {
    boost::system::error_code error;
    auto const host = asio::ip::make_address(address, error);
    tcp::endpoint const endpoint(host, 0);
    if (!error) acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
        return Error{Errc::io,
                     fmt::format("listen for agents on {}: {}", address, error.message())};
    }
    tasks_.spawn("accept agents", accept_loop());
    return {};
}

asio::awaitable<void> AgentServer::accept_loop() {
    asio::steady_timer pause(acceptor_.get_executor());
    while (true) {
        tcp::socket socket(acceptor_.get_executor());
        auto const [error] = co_await acceptor_.async_accept(socket, kToken);
        if (!error) {
            adopt(std::move(socket));
            continue;
        }
        // Out of descriptors, most likely: others may free some.
        log_.error("accept failed", {{"why", error.message()}});
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(kToken);
    }
}

void AgentServer::adopt(tcp::socket socket) {
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    int const number = next_connection_++;
    auto const connection = std::make_shared<FrameConnection>(std::move(socket), tasks_,
                                                              fmt::format("connection {}", number));
    connections_[number] = connection;
    auto on_frame = [this, number](std::string const& frame) { hear(number, frame); };
    auto on_closed = [this, number](Error const& why) {
        connections_.erase(number);
        if (why.code == Errc::invalid_input) {
            log_.warning("connection dropped", {{"number", number}, {"why", why.message}});
        }
        on_input_(AgentDisconnected{number});
    };
    connection->start({.on_frame = std::move(on_frame), .on_closed = std::move(on_closed)});
    on_input_(AgentConnected{number});
}

void AgentServer::hear(int connection, std::string const& frame) {
    auto message = protocol::decode_message<protocol::FromAgent>(frame);
    if (message.has_value()) {
        on_input_(AgentSaid{connection, std::move(*message)});
        return;
    }
    log_.warning("connection dropped", {{"number", connection}, {"why", message.error().message}});
    close(connection, message.error().message);
}

void AgentServer::send(int connection, protocol::ToAgent const& message) {
    auto const found = connections_.find(connection);
    if (found != connections_.end()) found->second->send(protocol::encode_message(message));
}

void AgentServer::close(int connection, std::string why) {
    auto const found = connections_.find(connection);
    if (found == connections_.end()) return;
    log_.debug("connection closed", {{"number", connection}, {"why", why}});
    found->second->close_after_sending(std::move(why));
}

}  // namespace osora::daemon
