// Numbers in a journal that no osora writes: a journal may be damaged or come from elsewhere, and
// sums of such numbers overflow. Who folds records asks here first, and says what was wrong. Pure.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <string>

namespace osora::protocol {

inline constexpr int kRunNodesMax = 1 << 16, kRunRanksPerNodeMax = 1 << 10;
inline constexpr int kNumberMax = 1'000'000'000;  // of steps, runs, attempts, restarts

/// "submitted: nodes is 2000000000, expected 1 to 65536": the first such number; "": none.
[[nodiscard]] std::string problem_of(RunEvent const& event);

/// `event` with the least of what is expected in place of each such number. Of steps, matrices and
/// collectives nothing is left: true figures under a wrong number mislead.
[[nodiscard]] RunEvent limited(RunEvent event);

}  // namespace osora::protocol
