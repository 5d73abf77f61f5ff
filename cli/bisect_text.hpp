// What `osora bisect` shows: what differs, the trials as they go, and the answer. Pure.
#pragma once

#include "cli/bisect_atoms.hpp"
#include "db/analysis/bisect/bisect.hpp"
#include "protocol/json.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// A search as it stands before its first trial.
struct BisectPlan {
    int good = 0, bad = 0;  // numbers of the runs
    double good_s = 0, bad_s = 0;
    TriableAtoms atoms;
    int expected = 0;  // trials
    int ranks = 0, nodes = 0, steps = 0;
    double trial_s = 0;  // wall time of one, as far as it can be guessed
    double budget_gpu_h = 0;
    bool gpu = false;
    std::string rung;  // the first one
};

[[nodiscard]] std::string bisect_plan_text(BisectPlan const& plan);
/// Table of the atoms: both values, prior; for --dry-run.
[[nodiscard]] std::string bisect_factor_text(BisectPlan const& plan);

[[nodiscard]] std::string bisect_trial_head();
[[nodiscard]] std::string bisect_trial_line(BisectPlan const& plan,
                                            db::analysis::TrialRecord const& record);

/// `id`: of the log.
[[nodiscard]] std::string bisect_answer_text(BisectPlan const& plan,
                                             db::analysis::BisectResult const& result,
                                             std::string const& id);
/// Members of osora.bisect/1.
[[nodiscard]] protocol::json::object bisect_json(BisectPlan const& plan,
                                                 db::analysis::BisectResult const& result,
                                                 std::string const& id);

/// "debug.collectives = per_parameter" (the bad run's), or without a value where it has none.
[[nodiscard]] std::string factor_text(db::analysis::Factor const& factor);
/// What gives a run the good value: "--set debug.collectives=bucketed", "unset NCCL_ALGO".
[[nodiscard]] std::string undo_text(db::analysis::Factor const& factor);

}  // namespace osora::cli
