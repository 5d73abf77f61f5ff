// Carries the messages between a ProbeLeader and its probers: poll() over their connections.
#pragma once

#include "base/files/descriptor.hpp"
#include "daemon/prober/leader.hpp"

#include <atomic>
#include <functional>

namespace osora::daemon {

struct LeaderLoop {
    Descriptor listener;
    LeaderOptions options;
    std::function<void(topology::ProbeResult const& part)> on_part;
    /// Called before the probers are dismissed.
    std::function<void(topology::ProbeResult const& result)> on_result;
    std::atomic<bool> const& stop;  // the result is then what was measured
};

/// Returns when the probe is done and the probers are gone, at most a moment later.
void lead(LeaderLoop loop);

}  // namespace osora::daemon
