// Signs of a rank that still reads or writes a network or a checkpoint: a slow file system is no
// hang (daemon/controller/hang).
#pragma once

#include "worker/jobs/agent_link.hpp"

#include <chrono>

namespace osora::worker {

constexpr std::chrono::seconds kSignEvery{10};

/// Called for each part that was loaded; the agent hears of it at most every kSignEvery.
class LoadingSigns {
public:
    explicit LoadingSigns(AgentLink& agent) : agent_(agent) {}

    void operator()() {
        auto const now = std::chrono::steady_clock::now();
        if (now - last_ < kSignEvery) return;
        last_ = now;
        agent_.send(protocol::PhaseChanged{.phase = protocol::Phase::loading, .limit_s = 0});
    }

private:
    AgentLink& agent_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace osora::worker
