// When is silence a hang, and which rank caused it? Pure (docs/rfc/001: limits by phase).
#pragma once

#include "protocol/messages/agent_messages.hpp"

#include <optional>
#include <vector>

namespace osora::daemon {

struct HangLimits {
    double step_timeout_s = 0;  // the run file's faults.step_timeout; 0 = auto
    double median_step_s = 0;   // of the last steps; 0 = none yet
};

/// Seconds of silence that are a hang in `phase`. The run file's limit for steps overrides the
/// worker's own (`asked_s`, 0 = none), which overrides the defaults.
[[nodiscard]] double hang_limit_s(protocol::Phase phase, double asked_s, HangLimits const& limits);

struct ObservedRank {
    int node = 0;
    protocol::RankHeartbeat rank;
    bool stopped = false;  // its process was found stopped by a signal
};

/// Whether the rank has done its part of the step in progress and waits for the others.
[[nodiscard]] bool is_waiting(protocol::RankHeartbeat const& rank);

/// The rank to blame once any rank is over its limit; nullopt while none is. Ranks that wait for
/// one that is within its own limit (rank 0 saves a checkpoint) are not over theirs. Ranks that
/// wait for it in a collective fall silent with it, so the culprit is, of those silent for half
/// their limit, one that is stopped, or the one furthest back: lowest step, then has not arrived
/// where the others wait, then longest silent, then lowest rank.
[[nodiscard]] std::optional<ObservedRank> find_hang(std::vector<ObservedRank> const& ranks,
                                                    HangLimits const& limits);

}  // namespace osora::daemon
