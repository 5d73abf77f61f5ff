// When does the silence of an agent count as its loss? Pure. Fed with every message of an agent;
// not part of the event log.
#pragma once

#include "daemon/clock.hpp"

#include <cstddef>
#include <vector>

namespace osora::daemon {

class Liveness {
public:
    /// Nodes 0..node_count-1 count as heard at `now`. Agents send a heartbeat every second; a node
    /// is lost after `timeout`.
    Liveness(int node_count, MonotonicTime now, MonotonicTime timeout = std::chrono::seconds(4))
        : last_heard_(static_cast<std::size_t>(node_count), now), timeout_(timeout) {}

    void heard(int node, MonotonicTime now) { last_heard_[static_cast<std::size_t>(node)] = now; }

    /// How long `node` has been silent.
    [[nodiscard]] MonotonicTime silence(int node, MonotonicTime now) const {
        return now - last_heard_[static_cast<std::size_t>(node)];
    }

    /// When `node` counts as lost unless it sends something before.
    [[nodiscard]] MonotonicTime deadline(int node) const {
        return last_heard_[static_cast<std::size_t>(node)] + timeout_;
    }

    /// The controller itself did not run for so long: that time counts against no node.
    void forgive(MonotonicTime pause) {
        for (MonotonicTime& heard : last_heard_) heard += pause;
    }

private:
    std::vector<MonotonicTime> last_heard_;
    MonotonicTime timeout_;
};

}  // namespace osora::daemon
