// Private to the agent core: what it knows of one worker.
#pragma once

#include "daemon/clock.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <string>

namespace osora::daemon {

struct WorkerState {
    bool alive = false;
    bool done = false;      // ended successfully
    bool stopped = false;   // WorkerFinished::stopped
    bool finished = false;  // sent WorkerFinished
    bool failed = false;    // its failure was reported
    bool speaks = false;    // exec: has reported a step
    int pid = 0, steps = 0;
    int step_when_ordered = -1;   // its step when it got the order to stop after its step
    std::string failure_message;  // of WorkerFailed
    std::string cpus;             // that it is bound to
    protocol::RankHeartbeat heartbeat;
    MonotonicTime last_heard{};
};

}  // namespace osora::daemon
