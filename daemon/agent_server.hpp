// Where agents connect: a TCP listener and its connections by number. Says what arrives, decides
// nothing. Private to shells (Asio inside).
#pragma once

#include "base/log.hpp"
#include "base/task_group.hpp"
#include "daemon/controller_core.hpp"
#include "daemon/frame_connection.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace osora::daemon {

class AgentServer {
public:
    /// AgentConnected, AgentSaid, AgentDisconnected.
    using OnInput = std::function<void(ControllerInput)>;

    AgentServer(TaskGroup& tasks, Logger& log, OnInput on_input);

    /// Listens on a free port of `address`. Loopback only: TLS is not there yet.
    [[nodiscard]] Result<void> listen(std::string const& address);
    [[nodiscard]] int port() const { return port_; }

    void send(int connection, protocol::ToAgent const& message);
    /// After what was sent on it.
    void close(int connection, std::string why);

private:
    asio::awaitable<void> accept_loop();
    void adopt(asio::ip::tcp::socket socket);
    void hear(int connection, std::string const& frame);

    TaskGroup& tasks_;
    Logger& log_;
    OnInput on_input_;
    asio::ip::tcp::acceptor acceptor_;
    int port_ = 0;
    int next_connection_ = 0;
    std::map<int, std::shared_ptr<FrameConnection>> connections_;
};

}  // namespace osora::daemon
