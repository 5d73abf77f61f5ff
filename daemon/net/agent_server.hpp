// Where agents connect: a TCP listener, with TLS off loopback, and its connections by number.
// Reports what arrives, decides nothing. Private to shells (Asio inside).
#pragma once

#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/controller/controller_core.hpp"
#include "daemon/net/frame_connection.hpp"
#include "daemon/net/tls_stream.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace osora::daemon {

struct AgentListening {
    bool everywhere = false;  // on every address of this machine; else on 127.0.0.1
    int wanted_port = 0;      // used when it is free: agents of an earlier incarnation know it
    TlsContext tls;           // empty: plain TCP
};

class AgentServer {
public:
    /// AgentConnected, AgentSaid, AgentDisconnected.
    using OnInput = std::function<void(ControllerInput)>;

    AgentServer(TaskGroup& tasks, Logger& log, OnInput on_input);

    static constexpr std::size_t kHandshakesMax = 256;  // at a time; then the oldest one ends

    [[nodiscard]] Result<void> listen(AgentListening how);
    [[nodiscard]] int port() const { return port_; }

    void send(int connection, protocol::ToAgent const& message);
    /// After everything that was sent on it.
    void close(int connection, std::string why);

private:
    [[nodiscard]] boost::system::error_code bind(asio::ip::tcp::endpoint const& endpoint);
    asio::awaitable<void> accept_loop();
    void welcome(asio::ip::tcp::socket socket, std::string peer);
    asio::awaitable<void> shake_hands(std::unique_ptr<TlsStream> stream, std::string peer);
    void make_room();
    void adopt(std::unique_ptr<Stream> stream, std::string const& peer);
    void hear(int connection, std::string const& frame);

    TaskGroup& tasks_;
    Logger& log_;
    OnInput on_input_;
    asio::ip::tcp::acceptor acceptor_;
    TlsContext tls_;
    int port_ = 0;
    std::map<int, TlsStream*> handshakes_;  // in progress, by number
    int next_handshake_ = 0;
    int next_connection_ = 0;
    std::map<int, std::shared_ptr<FrameConnection>> connections_;
};

}  // namespace osora::daemon
