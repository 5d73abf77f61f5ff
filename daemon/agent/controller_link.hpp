// An agent's connection to its controller: finds the controller, verifies its identity, and
// reconnects when the connection breaks. Driven by the agent. Private to shells (Asio inside).
#pragma once

#include "base/env.hpp"
#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/agent/agent_start.hpp"
#include "daemon/net/frame_connection.hpp"
#include "daemon/net/tls_stream.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace osora::daemon {

class ControllerLink {
public:
    struct Handlers {  // never called from inside a call of this class
        std::function<void()> on_connected;
        std::function<void(protocol::ToAgent)> on_message;
        std::function<void()> on_disconnected;
    };

    ControllerLink(AgentStart start, TaskGroup& tasks, Env& env, Logger& log, Handlers handlers);

    /// Stays connected for ever. Tries the address in controller.json, when this machine sees the
    /// run directory, then the controller's first address.
    [[nodiscard]] asio::awaitable<void> run();
    /// Dropped when not connected.
    void send(protocol::FromAgent const& message);
    /// This machine's address on the last connection.
    [[nodiscard]] std::string const& local_address() const { return local_address_; }

private:
    [[nodiscard]] std::vector<AgentAddress> places() const;
    asio::awaitable<bool> connect_to_any();
    asio::awaitable<Result<void>> connect(AgentAddress place, std::string address);
    asio::awaitable<Result<std::unique_ptr<Stream>>> secure(asio::ip::tcp::socket socket,
                                                            std::string fingerprint);
    void adopt(std::unique_ptr<Stream> stream);
    void tell(std::string const& failure);

    AgentStart start_;
    TaskGroup& tasks_;
    Env& env_;
    Logger& log_;
    Handlers handlers_;
    asio::steady_timer closed_;  // never expires; cancelled when the link is closed
    std::shared_ptr<FrameConnection> link_;
    std::string local_address_;
    std::string last_failure_;  // each failure is logged once
};

}  // namespace osora::daemon
