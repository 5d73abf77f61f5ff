// The candidates of `osora tune`: osora's communication settings, NCCL's settings of class J that
// apply to the machines, and those that the user names. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/config/run_config.hpp"
#include "plan/decision.hpp"
#include "plan/nccl/nccl_advice.hpp"
#include "plan/tune/tune_search.hpp"
#include "protocol/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

/// Gradient buckets of a quarter and four times the plan's size, and overlap switched; none for one
/// rank.
[[nodiscard]] std::vector<plan::TuneCandidate> own_candidates(plan::RunConfig const& config,
                                                              plan::PlanDecision const& decision);

/// As keys of the run file: "nccl.NCCL_MIN_CTAS".
[[nodiscard]] std::vector<plan::TuneCandidate> nccl_candidates(
    std::vector<plan::SettingCandidate> const& advised);

/// "worker.env.GLOO_SOCKET_IFNAME=eth0,eth1": a key of the run file and values to try.
/// invalid_input says what is missing.
[[nodiscard]] Result<plan::TuneCandidate> named_candidate(std::string_view text);

/// "--set" for each.
[[nodiscard]] std::vector<std::string> sets_of(plan::TuneSettings const& settings);

/// Adds `gain`, `low` and `high`, shares of the step; null: the setting did not run.
void add_gain(protocol::json::object& into, plan::TuneVerdict const& verdict);

/// The lines for a run file with the kept settings; empty if there are none.
[[nodiscard]] std::string run_file_lines(plan::TuneSettings const& kept);

}  // namespace osora::cli
