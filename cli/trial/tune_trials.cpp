#include "cli/trial/tune_trials.hpp"

#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/trial/tune_plan.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace osora::cli {

Result<TuneRun> tune_run(Context const& context, Arguments const& arguments, bool is_real,
                         int steps) {
    TuneRun run{.request = config_request(context, arguments),
                .name = {},
                .rung = is_real ? "train" : "rehearse",
                .steps = steps};
    auto const resolved = plan::load_config(run.request);
    if (resolved.problems.empty() && resolved.config.run.job != "train") {
        return Error{
            Errc::invalid_input,
            fmt::format("run.job = \"{}\": only training runs are tuned", resolved.config.run.job)};
    }
    run.name = resolved.config.run.name;
    if (auto const backend = arguments.value("--backend")) {
        run.request.sets.push_back("resources.backend=" + *backend);
    }
    std::ranges::move(trial_settings(run.rung, run.name + "-tune", steps),
                      std::back_inserter(run.request.sets));
    return run;
}

double step_s_for(TrialEnd const& end, double samples) {
    bool const is_known = samples > 0 && end.samples_per_step > 0;
    return is_known ? end.step_s * samples / end.samples_per_step : end.step_s;
}

TuneRecord::TuneRecord(Context const& context, TuneRun const& run) : run_(run) {
    db::Investigation what{.kind = "tune", .series = run.name};
    what.question.rung = run.rung == "train" ? "run" : "rehearsal";
    what.question.steps = run.steps;
    auto const state = state_dir(context.environment);
    if (state.has_error()) return;
    auto log = TrialLog::open(protocol::StatePaths{*state}.tunes(), std::move(what), LogMode::own);
    if (log.has_value()) {
        log_ = std::move(*log);
    } else {
        cli::print(stderr, "note: not kept for history: {}\n", log.error().message);
    }
}

TrialEnd TuneRecord::measure(Context const& context, plan::TuneSettings const& settings) {
    auto request = run_.request;
    auto const sets = sets_of(settings);
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    auto end = run_trial(context, request);
    if (!log_ || end.exit_code == kExitInterrupted) return end;
    if (auto const kept = log_->add(investigated(end, sets)); kept.has_error()) {
        cli::print(stderr, "note: not kept for history: {}\n", kept.error().message);
        log_.reset();
    }
    return end;
}

void TuneRecord::end(db::InvestigationEnd end) {
    if (!log_) return;
    auto const kept = log_->end(std::move(end));
    if (kept.has_error()) cli::print(stderr, "note: {}\n", kept.error().message);
}

}  // namespace osora::cli
