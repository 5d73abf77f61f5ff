// The trials of osora bisect: what a search asks for, run or played back. Driven by the command.
#pragma once

#include "cli/bisect_inputs.hpp"
#include "cli/bisect_log.hpp"
#include "cli/bisect_text.hpp"
#include "cli/context.hpp"
#include "plan/config/config_files.hpp"

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

/// What the command line asks for.
struct Bisection {
    BisectSide good, bad;
    BisectPlan plan;
    db::analysis::BisectOptions options;
    plan::ConfigRequest layers;  // of this user, without a run file
    std::vector<std::string> available;
    std::string series;
    std::filesystem::path state;
    bool json = false, anew = false;
    std::FILE* progress = stdout;
};

/// Runs the trials of one rung, and keeps what they measured.
class Trials {
public:
    /// `context` and `bisection` outlive it.
    Trials(Context const& context, Bisection const& bisection, BisectLog log, std::string rung);

    /// For bisect(): played back where an earlier call has measured it. cancelled: interrupted;
    /// not_found: this rung is too low; corrupt: the log holds other trials.
    [[nodiscard]] Result<db::analysis::TrialOutcome> measure(db::analysis::Trial const& trial);
    /// Shows what was decided.
    void note(db::analysis::TrialRecord const& record);

    /// What was found, for history. A file that cannot be written is said on stderr.
    void end(db::analysis::BisectResult const& result);

    [[nodiscard]] bool was_too_low() const { return too_low_; }
    [[nodiscard]] bool interrupted() const { return interrupted_; }
    [[nodiscard]] std::string const& id() const { return log_.id(); }
    [[nodiscard]] std::string const& failure() const { return failure_; }

private:
    [[nodiscard]] bool is_too_low();
    [[nodiscard]] double reproduced() const;
    [[nodiscard]] db::analysis::TrialOutcome outcome_of(LoggedTrial const& trial) const;
    [[nodiscard]] LoggedTrial run(db::analysis::Trial const& trial);
    [[nodiscard]] LoggedTrial refused(std::string why);
    [[nodiscard]] Result<std::filesystem::path> write_run_file(plan::RunConfig const& config) const;

    Context const& context_;
    Bisection const& bisection_;
    BisectLog log_;
    std::string rung_;
    std::vector<LoggedTrial> known_;  // measured by earlier calls
    std::vector<double> good_s_, bad_s_;
    bool too_low_ = false, interrupted_ = false;
    std::string failure_;
};

}  // namespace osora::cli
