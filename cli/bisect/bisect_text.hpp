// What `osora bisect` shows: what differs, the trials as they go, and the answer. Pure.
#pragma once

#include "cli/bisect/commits/commit_range.hpp"
#include "db/analysis/bisect/bisect.hpp"
#include "protocol/json.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// A search before its first trial.
struct BisectPlan {
    int good = 0, bad = 0;  // numbers of the runs
    double good_s = 0, bad_s = 0;
    TriableAtoms atoms;
    int expected = 0;  // trials
    int ranks = 0, nodes = 0, steps = 0;
    double trial_s = 0;  // wall time of one trial, estimated
    double budget_gpu_h = 0;
    bool gpu = false;
    std::string level;         // of the first search: "rehearsal" or "run"
    CommitRange commits;       // the path, if commits are tried
    int expected_commits = 0;  // number of trials to find the commit within the range
    int sigma_runs = 0;        // number of past runs from which sigma was estimated; 0: estimated
                               // from the trials alone
    double sigma_s = 0;
    std::vector<int> staged;  // runs that reached a [[stage]], which trials do not

    [[nodiscard]] bool tries_commits() const { return atoms.commit_atom >= 0; }
    /// Whether only commits differ.
    [[nodiscard]] bool only_commits() const { return tries_commits() && atoms.atoms.size() == 1; }
};

/// Level of a trial that an earlier search has run; it costs nothing.
inline constexpr char const* kFromHistory = "history";

/// The result of a search: among the items, with all commits as one item, and then among the
/// commits. Either of the two may be missing.
struct BisectAnswer {
    std::optional<db::analysis::BisectResult> items, commits;
    std::string items_log, commits_log;
    std::map<int, std::string> runs;  // by state of the path: the newest run that measured it

    /// The result that the verdict refers to.
    [[nodiscard]] db::analysis::BisectResult const& result() const {
        return items ? *items : *commits;
    }
    [[nodiscard]] std::string const& log() const { return items ? items_log : commits_log; }
    [[nodiscard]] double cost_gpu_s() const;
    [[nodiscard]] std::size_t trials() const;  // without those from history
};

[[nodiscard]] std::string bisect_plan_text(BisectPlan const& plan);
/// That trials do not reach the [[stage]] tables of a run; "": no run has reached one.
[[nodiscard]] std::string bisect_stage_note(BisectPlan const& plan);
/// "rehearsal of 25 steps".
[[nodiscard]] std::string trial_level_text(BisectPlan const& plan, std::string const& level);
/// Table of the atoms: both values, prior; for --dry-run.
[[nodiscard]] std::string bisect_factor_text(BisectPlan const& plan);

[[nodiscard]] std::string bisect_trial_head();
[[nodiscard]] std::string bisect_trial_line(BisectPlan const& plan,
                                            db::analysis::TrialRecord const& record);

/// The same for a trial of state `state` of the commits; 0 is the good run's commit.
[[nodiscard]] std::string commit_trial_line(BisectPlan const& plan,
                                            db::analysis::TrialRecord const& record);

[[nodiscard]] std::string bisect_answer_text(BisectPlan const& plan, BisectAnswer const& answer);
/// Members of osora.bisect/1.
[[nodiscard]] protocol::json::object bisect_json(BisectPlan const& plan,
                                                 BisectAnswer const& answer);

/// "debug.collectives = per_parameter" (the bad run's value), or without a value if it has none.
[[nodiscard]] std::string factor_text(db::analysis::Factor const& factor);
/// How to give a run the good value: "--set debug.collectives=bucketed", "unset NCCL_ALGO".
[[nodiscard]] std::string undo_text(db::analysis::Factor const& factor);

}  // namespace osora::cli
