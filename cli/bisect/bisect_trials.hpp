// The trials of osora bisect: runs what a search asks for, or replays recorded results. Driven by
// the command.
#pragma once

#include "cli/bisect/bisect_inputs.hpp"
#include "cli/bisect/commits/commit_runner.hpp"
#include "cli/bisect/search_core.hpp"
#include "cli/command/context.hpp"
#include "cli/trial/trial_log.hpp"
#include "plan/config/config_files.hpp"

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

/// The command line's options.
struct Bisection {
    BisectSide good, bad;
    BisectPlan plan;
    db::analysis::BisectOptions options;
    plan::ConfigRequest layers;  // settings of this user, without a run file
    std::vector<std::string> available;
    std::string series;  // of the trials
    std::filesystem::path state;
    bool json = false, anew = false;
    std::FILE* progress = stdout;
};

/// Runs the trials of one search and records what they measured.
class Trials {
public:
    /// `context`, `bisection` and `commits` outlive it.
    Trials(Context const& context, Bisection const& bisection, CommitRunner& commits, TrialLog log,
           SearchStep step);

    /// For bisect(): replays a trial that an earlier call has measured. cancelled: interrupted;
    /// not_found: this level is too low; corrupt: the log holds other trials; else as
    /// CommitRunner::place.
    [[nodiscard]] Result<db::analysis::TrialOutcome> measure(db::analysis::Trial const& trial);
    /// Shows what was decided.
    void note(db::analysis::TrialRecord const& record);

    /// Records the result for the history. If the file cannot be written, says so on stderr.
    void end(db::InvestigationEnd end);

    [[nodiscard]] bool was_too_low() const { return too_low_; }
    [[nodiscard]] bool interrupted() const { return interrupted_; }
    [[nodiscard]] TrialLog const& log() const { return log_; }
    [[nodiscard]] std::string const& failure() const { return failure_; }

private:
    [[nodiscard]] bool is_too_low();
    [[nodiscard]] double reproduced() const;
    [[nodiscard]] db::analysis::TrialOutcome outcome_of(db::InvestigatedTrial const& trial) const;
    [[nodiscard]] Result<db::InvestigatedTrial> run(db::analysis::Trial const& trial);
    [[nodiscard]] db::InvestigatedTrial const* measured_before(std::string const& bits) const;
    [[nodiscard]] db::InvestigatedTrial start(TrialStart start);
    [[nodiscard]] db::InvestigatedTrial refused(std::string why);
    [[nodiscard]] Result<std::filesystem::path> write_run_file(plan::RunConfig const& config) const;

    Context const& context_;
    Bisection const& bisection_;
    CommitRunner& commits_;
    TrialLog log_;
    SearchStep step_;
    std::vector<db::InvestigatedTrial> known_;  // measured by earlier calls
    std::vector<double> good_s_, bad_s_;
    bool too_low_ = false, interrupted_ = false;
    std::string failure_;
};

}  // namespace osora::cli
