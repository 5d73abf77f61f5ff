#include "cli/bisect/bisect_search.hpp"

#include "cli/command/print.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <utility>

namespace osora::cli {
namespace {

using namespace db::analysis;

SearchRules search_rules(Bisection const& bisection) {
    auto const& bad = bisection.bad.run.summary.run;
    return {.good = bisection.good.run.summary.run.uuid,
            .bad = bad.uuid,
            .trains = bad.job == "train",
            .options = bisection.options};
}

WorktreeOptions worktree_options(Context const& context, Bisection const& bisection) {
    auto* const progress = bisection.progress;
    return {.build = bisection.plan.commits.build,
            .environment = context.environment,
            .retry_failed = bisection.anew,
            .on_build = [progress](std::string const& commit, auto const& log) {
                constexpr std::size_t kDigits = 10;
                cli::print(progress, "      builds {} (log: {})\n", commit.substr(0, kDigits),
                           log.string());
                std::fflush(progress);
            }};
}

Result<SearchEnd> run_search(Context const& context, Bisection const& bisection,
                             CommitRunner& commits, SearchStep const& step) {
    auto const& plan = bisection.plan;
    OSORA_TRY(auto log, TrialLog::open(protocol::StatePaths{bisection.state}.bisects(),
                                       db::Investigation{.question = step.question},
                                       bisection.anew ? LogMode::anew : LogMode::resume));
    auto const known = log.trials().size();
    cli::print(bisection.progress, "\nrung: {}{}\n{}", trial_level_text(plan, step.level()),
               known > 0 ? fmt::format("; {} trials are known (log {})", known, log.id()) : "",
               bisect_trial_head());
    Trials trials(context, bisection, commits, std::move(log), step);
    auto const measure = [&](Trial const& trial) { return trials.measure(trial); };
    auto const note = [&](TrialRecord const& record) { trials.note(record); };
    OSORA_TRY(auto result,
              step.is_path ? bisect_commits(plan.commits.path->steps(), step.options, measure, note)
                           : bisect(plan.atoms.atoms, step.options, measure, note));
    if (!trials.interrupted()) trials.end(investigation_end(plan, step, result));
    return SearchEnd{.result = std::move(result),
                     .trials = trials.log().trials(),
                     .log_id = trials.log().id(),
                     .interrupted = trials.interrupted(),
                     .too_low = trials.was_too_low(),
                     .failure = trials.failure()};
}

}  // namespace

Result<BisectOutcome> search_for_cause(Context const& context, Bisection const& bisection) {
    SearchCore core(bisection.plan, search_rules(bisection));
    CommitRunner commits(bisection.plan.commits, bisection.state,
                         worktree_options(context, bisection));
    while (auto const& step = core.next()) {
        cli::print(bisection.progress, "{}", step->notice);
        OSORA_TRY(auto end, run_search(context, bisection, commits, *step));
        core.ended(std::move(end));
    }
    return core.outcome();
}

}  // namespace osora::cli
