// The worker's end of the socketpair to its agent: sends metrics and events, receives stop orders.
// Ranks print none of these themselves. Without an agent (fd < 0) messages become JSON lines on
// stdout. send() may be called from any thread.
#pragma once

#include "base/result.hpp"
#include "protocol/journal/framing.hpp"
#include "protocol/messages/worker_messages.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace osora::worker {

class AgentLink {
public:
    /// Owns `fd`; -1 = no agent.
    explicit AgentLink(int fd) : fd_(fd) {}
    ~AgentLink();
    AgentLink(AgentLink const&) = delete;
    AgentLink& operator=(AgentLink const&) = delete;

    /// Blocks while the agent is slow to read. If the agent is gone, this process ends soon
    /// (PDEATHSIG); until then messages are dropped.
    void send(protocol::FromWorker const& message);

    /// The stop order, if one has arrived. Never blocks. A closed link counts as an order to stop
    /// without a checkpoint.
    [[nodiscard]] std::optional<protocol::StopWorker> stop_order();
    /// Waits for so long, or until a stop order arrives: false.
    [[nodiscard]] bool pause(double seconds);

private:
    void read_available();

    int fd_;
    std::mutex sending_;
    protocol::FrameReader reader_;
    std::optional<protocol::StopWorker> stop_;
};

/// How long a thread that makes steps may take to end after an error.
constexpr double kStopLimit_s = 5;

/// Reports the error and ends the process, for a rank that waits for what no longer comes: no
/// destructor of it would come back in time.
[[noreturn]] void end_now(AgentLink& agent, Error const& why);

/// After an error: what has threads. Each is asked in order whether they have ended, after a wait;
/// if not, end_now(), as neither the log nor the exit code may wait for a thread that
/// hangs in the kernel (a dead network file system).
void end_if_stuck(AgentLink& agent, Error const& why,
                  std::vector<std::function<bool()>> const& ended);

}  // namespace osora::worker
