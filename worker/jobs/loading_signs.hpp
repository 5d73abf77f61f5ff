// Signs of a rank that still reads or writes a network or a checkpoint: a slow file system is no
// hang (daemon/controller/hang).
#pragma once

#include "worker/data/retry_files.hpp"
#include "worker/jobs/agent_link.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

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

/// Waits at most `limit_s` for a file system, and says so in notices of this kind. What an attempt
/// reads at its start may be away still, after the outage that ended the one before it.
[[nodiscard]] inline FileWait file_wait(AgentLink& agent, std::string kind, double limit_s) {
    auto const say = [&agent, kind = std::move(kind)](Error const& why, double pause_s) {
        agent.send(protocol::WorkerNotice{
            .kind = kind,
            .severity = "warning",
            .step = 0,
            .detail = fmt::format("{}; tried again in {:.1f} s", why.message, pause_s)});
    };
    auto const pause = [&agent](double seconds) { return agent.pause(seconds); };
    return {.limit_s = limit_s, .say = say, .pause = pause};
}

}  // namespace osora::worker
