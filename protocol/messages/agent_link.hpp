// A rank's end of the socketpair to its agent, for ranks that do one thing at a time: blocking
// writes, stop requests as they arrive.
#pragma once

#include "base/files/descriptor.hpp"
#include "protocol/journal/framing.hpp"
#include "protocol/messages/worker_messages.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace osora::protocol {

class AgentLink {
public:
    /// `fd` < 0: no agent; everything is then dropped.
    explicit AgentLink(int fd) : socket_(fd) {}

    /// Errors: the agent has closed the connection.
    [[nodiscard]] Result<void> send(FromWorker const& message);
    [[nodiscard]] Result<void> send_bytes(std::string_view bytes);

    /// Waits for `limit`, or less when the agent requests a stop; the request is kept for
    /// stop_request(). Errors: the agent has closed the connection.
    [[nodiscard]] Result<void> pass_time(std::chrono::duration<double> limit);

    [[nodiscard]] std::optional<StopWorker> const& stop_request() const { return stop_; }
    /// A descriptor for poll(); -1: no agent.
    [[nodiscard]] int descriptor() const { return socket_.get(); }

private:
    [[nodiscard]] Result<void> receive();

    Descriptor socket_;
    FrameReader frames_;
    std::optional<StopWorker> stop_;
};

}  // namespace osora::protocol
