// The two runs that osora bisect compares, and the settings of a run between them: some of the
// differing items from one run, the rest from the other. Pure, except load_side().
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
    plan::RunConfig config;          // its paths are absolute
    std::filesystem::path base_dir;  // its relative paths start here
    std::vector<std::string> hosts;  // sorted

    /// Time of a step, weighted by the run's mix of buckets.
    [[nodiscard]] double step_s() const { return run.summary.measured->step_s_mix; }
};

/// Reads a run of the history. Errors not_found and invalid_input: as db::find_run; the run is
/// imported and refused; no steps that count; its run file is not in the history.
[[nodiscard]] Result<BisectSide> load_side(db::Store& store, std::string const& wanted,
                                           Imported imported);

/// Whether a trial may set this variable: only those of libraries that move data or compute. A
/// history must not be able to make a trial set PATH, PYTHONPATH or LD_PRELOAD.
[[nodiscard]] bool is_trial_variable(std::string_view name);

/// What a trial takes from the bad run.
struct TrialChoice {
    std::set<std::string> config_keys;  // as db::flatten names them
    std::set<std::string> variables;
    bool hosts = false;
    int state = -1;  // state of the path of commits; -1: what is installed here
};

struct TrialStart {
    plan::RunConfig config;
    Environment environment;
    std::filesystem::path base_dir;  // of the good run
};
/// `environment` with each variable that ranks of either run had, with the chosen run's value; the
/// same for the config. Variables that differed between the ranks of one run keep their value.
/// `available`: hosts of this allocation; if hosts were chosen, the others are excluded.
/// invalid_input: the result is not a valid run file.
[[nodiscard]] Result<TrialStart> trial_start(BisectSide const& good, BisectSide const& bad,
                                             TrialChoice const& choice,
                                             Environment const& environment,
                                             std::vector<std::string> const& available);

/// Compute times of the good run for buckets that it has trained, else of the bad run, so that a
/// rehearsal differs only in what was chosen. Buckets that set compute_s keep it.
void set_compute_times(BisectSide const& good, BisectSide const& bad, plan::RunConfig& config);

/// Whether the variable had one value on all ranks, so that a trial can set it.
[[nodiscard]] bool is_one_value(std::string const& fact);

}  // namespace osora::cli
