#include "cli/trial/regression_notice.hpp"

#include "cli/command/arguments.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/print.hpp"
#include "cli/text/terminal.hpp"
#include "cli/trial/trial_run.hpp"
#include "db/record/facts.hpp"
#include "db/store/queries.hpp"
#include "plan/config/submitted_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace osora::cli {
namespace {

using db::analysis::changepoint::GateState;

constexpr int kNoticeIndent = 10;
// A repeat's first fifth is warm-up; ten steps must remain to count.
constexpr int kRepeatSteps = 40, kRepeatStepsMin = 15;
constexpr double kRepeatStartGuess_s = 60;

std::string bisect_line(std::string_view label, RegressionNotice const& word) {
    if (word.good == 0) return {};
    return block(label, fmt::format("osora bisect {} {}", word.good, word.bad), kNoticeIndent);
}

using Runs = std::vector<db::analysis::SeriesRun>;

Result<Runs> series_runs(Context const& context, std::string const& series) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    OSORA_TRY(auto const history, open_history(state));
    OSORA_TRY(auto runs, db::load_own_series(*history.store, series));
    (void)db::analysis::take_unfinished(runs);
    return runs;
}

std::optional<db::analysis::Repeat> repeat_of(Runs const& runs, Runs const& repeats, int number) {
    for (auto& group : db::analysis::run_groups(runs)) {
        if (group.numbers.back() != number) continue;
        return db::analysis::judge_repeat(db::analysis::detect(std::move(group)), runs, repeats);
    }
    return std::nullopt;
}

bool is_measured(plan::RunConfig const& config) {
    return config.run.job == "train" || config.run.job == "exec";
}

/// Runs it again; the notice is unchanged if that is inconclusive.
RegressionNotice repeated(Context const& context, plan::RunConfig const& config,
                          plan::ConfigRequest request, RegressionNotice const& suspected) {
    int const steps = repeat_steps(config.train.steps, suspected, config.bisect.budget_gpu_h);
    if (steps == 0) {
        cli::print("{}", block("repeat",
                               fmt::format("{} steps of it cost more than "
                                           "bisect.budget_gpu_h = {:g}",
                                           kRepeatStepsMin, config.bisect.budget_gpu_h),
                               kNoticeIndent));
        return suspected;
    }
    if (suspected.last_stage_step >= steps) {
        cli::print("{}", block("repeat",
                               fmt::format("none: {} steps of it do not reach its [[stage]] at "
                                           "step {}",
                                           steps, suspected.last_stage_step),
                               kNoticeIndent));
        return suspected;
    }
    cli::print("{}", block("repeat",
                           fmt::format("run {} once more for {} steps (bisect.auto = "
                                       "\"run\")",
                                       suspected.bad, steps),
                           kNoticeIndent));
    std::fflush(stdout);
    auto const series = db::analysis::repeat_series(config.run.name, suspected.bad);
    for (auto& set : trial_settings(config.run.job, series, steps)) {
        request.sets.push_back(std::move(set));
    }
    auto const end = run_trial(context, request);
    if (!end.failure.empty()) {
        cli::print("{}", block("", "inconclusive: " + end.failure, kNoticeIndent));
        return suspected;
    }
    auto const runs = series_runs(context, config.run.name);
    auto const repeats = series_runs(context, series);
    if (runs.has_error() || repeats.has_error()) return suspected;
    auto const repeat = repeat_of(*runs, *repeats, suspected.bad);
    if (!repeat) {
        cli::print("{}", block("",
                               fmt::format("run {} cannot be compared with it: another size, "
                                           "or too few steps",
                                           end.run),
                               kNoticeIndent));
        return suspected;
    }
    return regression_notice(suspected, *repeat);
}

}  // namespace

RegressionNotice regression_notice(Runs const& runs, int number) {
    RegressionNotice word;
    for (auto& group : db::analysis::run_groups(runs)) {
        if (group.numbers.empty() || group.numbers.back() != number) continue;
        auto const detection = db::analysis::detect(std::move(group));
        auto const state = detection.newest.value;
        word.confirmed = state == GateState::confirmed;
        if (state != GateState::suspect && !word.confirmed) return word;
        word.bad = number;
        word.good = db::analysis::good_run_of(detection.group, number);
        word.step_s = detection.group.step_s.back();
        word.ranks = detection.group.size.ranks;
        word.last_stage_step = db::last_stage_step(detection.group.work);
        word.text = block(word.confirmed ? "confirmed" : "suspected", detection.newest.reason,
                          kNoticeIndent);
        if (word.confirmed) {
            word.text += bisect_line("next", word);
        } else {
            word.text +=
                block("", "one slow run may be chance; two of two confirm it", kNoticeIndent);
            word.text +=
                block("next", fmt::format("osora submit --from {}", number), kNoticeIndent);
            word.text += bisect_line("then", word);
        }
    }
    return word;
}

RegressionNotice regression_notice(RegressionNotice const& suspected,
                                   db::analysis::Repeat const& repeat) {
    RegressionNotice word = suspected;
    auto const& decision = repeat.decision;
    word.confirmed = decision.value == GateState::confirmed;
    word.text =
        block(word.confirmed ? "confirmed" : "dismissed",
              fmt::format("run {} repeated it: {}", repeat.number, decision.reason), kNoticeIndent);
    if (word.confirmed) {
        word.text += bisect_line("next", word);
        return word;
    }
    if (decision.value == GateState::undecided) {
        word = suspected;
        word.text = block("undecided", fmt::format("run {}: {}", repeat.number, decision.reason),
                          kNoticeIndent);
        return word;
    }
    word.good = word.bad = 0;
    if (!repeat.other_nodes.empty()) {
        word.text += block("nodes",
                           fmt::format("it ran without {}, which may be what was slow",
                                       fmt::join(repeat.other_nodes, ", ")),
                           kNoticeIndent);
        word.text += block("next", "osora detect --nodes", kNoticeIndent);
    }
    return word;
}

int repeat_steps(int steps, RegressionNotice const& suspected, double budget_gpu_h) {
    double const budget_s =
        budget_gpu_h * 3600 / std::max(1, suspected.ranks) - kRepeatStartGuess_s;
    double const affordable = budget_s / std::max(suspected.step_s, 1e-9);
    if (affordable < kRepeatStepsMin) return 0;
    int const wanted = std::clamp(steps, kRepeatStepsMin, kRepeatSteps);
    return affordable < wanted ? static_cast<int>(affordable) : wanted;
}

void tell_regression(Context const& context, RunFolder const& run) {
    auto const submitted = plan::read_submitted_run(run.paths);
    if (submitted.has_error()) return;
    auto const& config = submitted->config;
    if (config.bisect.auto_mode == "off" || !is_measured(config)) return;
    auto const runs = series_runs(context, config.run.name);
    if (runs.has_value()) cli::print("{}", regression_notice(*runs, run.number).text);
}

void follow_up(Context const& context, RunFolder const& run, plan::RunConfig const& config,
               plan::ConfigRequest const& request) {
    auto const& mode = config.bisect.auto_mode;
    if (mode == "off" || !is_measured(config)) return;
    auto const runs = series_runs(context, config.run.name);
    if (runs.has_error()) return;
    auto word = regression_notice(*runs, run.number);
    if (word.text.empty()) return;
    cli::print("{}", word.text);
    if (mode != "run") return;
    if (!word.confirmed) {
        auto const again = repeated(context, config, request, word);
        if (again.text != word.text) cli::print("{}", again.text);
        word = again;
    }
    if (!word.confirmed || word.good == 0) return;
    cli::print("\nbisect.auto = \"run\": osora bisect {} {}\n", word.good, word.bad);
    auto const command = bisect_command();
    std::vector<std::string> const words{std::to_string(word.good), std::to_string(word.bad)};
    auto const arguments = parse_arguments(command, words);
    if (arguments.has_value()) (void)command.run(context, *arguments);
}

}  // namespace osora::cli
