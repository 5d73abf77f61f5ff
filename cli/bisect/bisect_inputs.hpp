// The two runs that osora bisect stands between, and what a run between them is started with: some
// of the differing items as the one has them, the rest as the other. Pure, but for load_side().
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"
#include "cli/run/runs.hpp"
#include "db/analysis/history.hpp"
#include "db/store/store.hpp"
#include "plan/config/run_config.hpp"
#include "protocol/json.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct BisectSide {
    db::analysis::RunHistory run;
    protocol::json::value config;    // plan::RunConfig as resolved, its paths absolute
    std::filesystem::path base_dir;  // its relative paths started here
    std::vector<std::string> hosts;  // sorted

    /// Of a step of the run's mix of buckets.
    [[nodiscard]] double step_s() const { return run.summary.measured->step_s_mix; }
};

/// A run of the history. not_found, invalid_input: as db::find_run; imported and refused; no steps
/// that count; the run file is not in the history.
[[nodiscard]] Result<BisectSide> load_side(db::Store& store, std::string const& wanted,
                                           Imported imported);

/// Whether a trial may set this variable: those of the libraries that move data and compute. A
/// history cannot make a trial set PATH, PYTHONPATH or LD_PRELOAD.
[[nodiscard]] bool is_trial_variable(std::string_view name);

/// What a trial takes from the bad run.
struct TrialChoice {
    std::set<std::string> config_keys;  // as db::flatten names them
    std::set<std::string> variables;
    bool hosts = false;
    int state = -1;  // of the path of commits; -1: what is installed here
};

struct TrialStart {
    plan::RunConfig config;
    Environment environment;
    std::filesystem::path base_dir;  // good's
};
/// `environment` with each variable that ranks of either run had as the chosen one had it, and the
/// config likewise. Variables that differed between the ranks of a run are left as they are.
/// `available`: hosts of this allocation; where hosts were chosen, those that are not wanted are
/// excluded. invalid_input: such a run file cannot be.
[[nodiscard]] Result<TrialStart> trial_start(BisectSide const& good, BisectSide const& bad,
                                             TrialChoice const& choice,
                                             Environment const& environment,
                                             std::vector<std::string> const& available);

/// Own work of the good run where the bucket was trained in it, else of the bad one, so that a
/// rehearsal differs only by what was chosen. Buckets with a compute_s of their own keep it.
void set_compute_times(BisectSide const& good, BisectSide const& bad, plan::RunConfig& config);

/// Whether the variable had one value on all ranks, and so can be set for a trial.
[[nodiscard]] bool is_one_value(std::string const& fact);

}  // namespace osora::cli
