// A connection that sends anything but messages is dropped; this does not affect the run.
#include "daemon/net/agent_server.hpp"

#include "daemon/net/own_addresses.hpp"
#include "protocol/messages/message.hpp"

#include <fmt/format.h>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>

namespace osora::daemon {

using asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds kAgentHandshakeLimit{5000};

std::string text_of(asio::ip::address const& address) {
    bool const mapped = address.is_v6() && address.to_v6().is_v4_mapped();
    if (!mapped) return address.to_string();
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
}

}  // namespace

AgentServer::AgentServer(TaskGroup& tasks, Logger& log, OnInput on_input)
    : tasks_(tasks), log_(log), on_input_(std::move(on_input)), acceptor_(tasks.executor()) {}

boost::system::error_code AgentServer::bind(tcp::endpoint const& endpoint) {
    boost::system::error_code error, ignored;
    acceptor_.close(ignored);
    acceptor_.open(endpoint.protocol(), error);
    // A port whose last connections are still in TIME_WAIT counts as free.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && endpoint.address().is_v6()) {
        acceptor_.set_option(asio::ip::v6_only(false), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
}

Result<void> AgentServer::listen(AgentListening how) {
    tls_ = std::move(how.tls);
    std::vector<asio::ip::address> const hosts =
        how.everywhere ? std::vector<asio::ip::address>{asio::ip::address_v6::any(),
                                                        asio::ip::address_v4::any()}
                       : std::vector<asio::ip::address>{asio::ip::address_v4::loopback()};
    auto const wanted = static_cast<std::uint16_t>(how.wanted_port);
    boost::system::error_code error;
    for (auto const& host : hosts) {
        error = bind({host, wanted});
        if (error && wanted != 0) error = bind({host, 0});
        if (!error) break;
    }
    if (error) return Error{Errc::io, "listen for agents: " + error.message()};
    tasks_.spawn("accept agents", accept_loop());
    return {};
}

asio::awaitable<void> AgentServer::accept_loop() {
    asio::steady_timer pause(acceptor_.get_executor());
    while (true) {
        tcp::socket socket(acceptor_.get_executor());
        tcp::endpoint peer;
        auto const [error] = co_await acceptor_.async_accept(socket, peer, kToken);
        if (!error) {
            welcome(std::move(socket), text_of(peer.address()));
            continue;
        }
        // Probably out of descriptors: other connections may free some.
        log_.error("accept failed", {{"why", error.message()}});
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(kToken);
    }
}

void AgentServer::welcome(tcp::socket socket, std::string peer) {
    prepare_socket(socket.native_handle());
    if (!tls_) return adopt(std::make_unique<Stream>(std::move(socket)), peer);
    auto stream = TlsStream::make(std::move(socket), tls_);
    if (stream.has_error()) {
        log_.error("agent connection refused", {{"peer", peer}, {"why", stream.error().message}});
        return;
    }
    make_room();
    tasks_.spawn("handshake", shake_hands(std::move(*stream), std::move(peer)));
}

/// Closes the oldest handshake to make room: an agent's is over at once, a long one is a
/// stranger's.
void AgentServer::make_room() {
    if (handshakes_.size() < kHandshakesMax) return;
    log_.warning("closed the oldest handshake", {{"why", "too many handshakes"}});
    auto const oldest = handshakes_.begin();
    boost::system::error_code ignored;
    oldest->second->socket().shutdown(asio::socket_base::shutdown_both, ignored);
    handshakes_.erase(oldest);
}

asio::awaitable<void> AgentServer::shake_hands(std::unique_ptr<TlsStream> stream,
                                               std::string peer) {
    int const number = next_handshake_++;
    handshakes_[number] = stream.get();
    auto const shaken = co_await stream->handshake(kAgentHandshakeLimit);
    handshakes_.erase(number);
    if (shaken.has_value()) {
        adopt(std::move(stream), peer);
    } else if (shaken.error().code == Errc::unreachable) {
        // An agent that only tests whether it can connect does this (agent_announcement).
        log_.debug("agent connection closed", {{"peer", peer}, {"why", shaken.error().message}});
    } else {
        log_.warning("agent connection refused", {{"peer", peer}, {"why", shaken.error().message}});
    }
}

void AgentServer::adopt(std::unique_ptr<Stream> stream, std::string const& peer) {
    int const number = next_connection_++;
    auto const connection = std::make_shared<FrameConnection>(std::move(stream), tasks_,
                                                              fmt::format("connection {}", number));
    log_.debug("agent connection", {{"number", number}, {"peer", peer}});
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
    on_input_(AgentConnected{number, peer});
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
    log_.info("connection closed", {{"number", connection}, {"why", why}});
    found->second->close_after_sending(std::move(why));
}

}  // namespace osora::daemon
