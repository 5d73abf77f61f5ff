// Numbers in a journal that osora never writes: a journal may be damaged or come from elsewhere,
// and sums of such numbers overflow. Code that folds records checks here first, and reports what
// was wrong. Pure.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <string>

namespace osora::protocol {

inline constexpr int kRunNodesMax = 1 << 16, kRunRanksPerNodeMax = 1 << 10;
inline constexpr int kNumberMax = 1'000'000'000;  // of steps, runs, attempts, restarts

/// "submitted: nodes is 2000000000, expected 1 to 65536": the first such number; "": none.
[[nodiscard]] std::string problem_of(RunEvent const& event);

/// `event` with each such number replaced by the least allowed one. Steps, matrices and collectives
/// are emptied: true figures under a wrong number mislead.
[[nodiscard]] RunEvent limited(RunEvent event);

}  // namespace osora::protocol
