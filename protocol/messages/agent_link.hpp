// A rank's end of the socketpair to its agent, for ranks that do one thing at a time: blocking
// writes, stop requests when they come.
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

    /// Errors: the agent is gone.
    [[nodiscard]] Result<void> send(FromWorker const& message);
    [[nodiscard]] Result<void> send_bytes(std::string_view bytes);

    /// Lets `limit` pass, or less when the agent asks to stop; the request is kept for
    /// stop_request(). Errors: the agent is gone.
    [[nodiscard]] Result<void> pass_time(std::chrono::duration<double> limit);

    [[nodiscard]] std::optional<StopWorker> const& stop_request() const { return stop_; }
    /// To wait on, with others; -1: no agent.
    [[nodiscard]] int descriptor() const { return socket_.get(); }

private:
    [[nodiscard]] Result<void> receive();

    Descriptor socket_;
    FrameReader frames_;
    std::optional<StopWorker> stop_;
};

}  // namespace osora::protocol
