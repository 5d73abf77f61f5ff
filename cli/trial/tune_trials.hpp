// Private to osora tune: the run that its trials repeat, and their record in the history.
#pragma once

#include "cli/command/command.hpp"
#include "cli/trial/trial_log.hpp"
#include "cli/trial/trial_run.hpp"
#include "plan/tune/tune_search.hpp"

#include <optional>
#include <string>

namespace osora::cli {

struct TuneRun {
    plan::ConfigRequest request;  // settings of a trial, without what is tried
    std::string name;             // of the run file
    std::string rung;             // "train", "rehearse"
    int steps = 0;
};

/// A training run of `steps` steps (trial_settings()), or its rehearsal. The trials' settings come
/// last: they override the run file and the user's --set. invalid_input: it is no training run.
[[nodiscard]] Result<TuneRun> tune_run(Context const& context, Arguments const& arguments,
                                       bool is_real, int steps);

/// Time of a trial's step as if it had `samples`, those of the trials that it is compared with: a
/// setting may change the batch. The step's own time where one of the two is not known (0).
[[nodiscard]] double step_s_for(TrialEnd const& end, double samples);

/// Trials with their settings, kept for the history; an error in writing is printed once and stops
/// nothing.
class TuneRecord {
public:
    TuneRecord(Context const& context, TuneRun const& run);
    /// Runs and records one trial.
    [[nodiscard]] TrialEnd measure(Context const& context, plan::TuneSettings const& settings);
    void end(db::InvestigationEnd end);

private:
    TuneRun run_;
    std::optional<TrialLog> log_;
};

}  // namespace osora::cli
