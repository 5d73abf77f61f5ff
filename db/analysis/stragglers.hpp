// The rank that delays the others in a run, from its recorded arrival times. Pure.
#pragma once

#include "db/record/run_record.hpp"
#include "protocol/steps/straggler.hpp"

#include <optional>
#include <vector>

namespace osora::db::analysis {

/// Over the steps `used` (indices); nullopt: no rank does, or nothing is recorded.
[[nodiscard]] std::optional<protocol::Straggler> straggler_of(StepTable const& steps,
                                                              std::vector<std::size_t> const& used);

}  // namespace osora::db::analysis
