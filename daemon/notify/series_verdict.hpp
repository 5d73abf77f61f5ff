// Asks the history whether a run was slower than its series. Idempotent; driven by the controller
// after the run's end, never by a rank.
#pragma once

#include "base/result.hpp"
#include "protocol/run_directory.hpp"

#include <optional>
#include <string>

namespace osora::daemon {

struct SlowerRun {
    std::string state;   // "suspected", "confirmed"
    std::string reason;  // "12 % slower than the median of 18 runs, 7.3 noises"
};

/// Of a run that the history has, when it is the newest of its group; nullopt: it was not slower,
/// or there are too few runs to decide. As `osora submit` decides at a run's end.
[[nodiscard]] Result<std::optional<SlowerRun>> slower_than_series(protocol::RunPaths const& paths,
                                                                  std::string const& series,
                                                                  int number);

}  // namespace osora::daemon
