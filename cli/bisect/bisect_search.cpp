#include "cli/bisect/bisect_search.hpp"

#include "cli/bisect/bisect_culprit.hpp"
#include "cli/command/print.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace osora::cli {
namespace {

using namespace db::analysis;

/// One search, and the other facts that an answer needs.
struct Searched {
    BisectResult result;
    std::vector<db::InvestigatedTrial> trials;
    std::string log_id;
    bool interrupted = false, too_low = false;
    std::string failure;
};

/// The search among the items: its cost so far, and what it has measured. None: there was no such
/// search.
struct Before {
    BisectResult const* result = nullptr;
    std::vector<db::InvestigatedTrial> const* trials = nullptr;
};

class Searches {
public:
    Searches(Context const& context, Bisection const& bisection)
        : context_(context),
          bisection_(bisection),
          plan_(bisection.plan),
          commits_(bisection.plan.commits, bisection.state, worktree_options()) {}

    Result<BisectOutcome> run() {
        for (std::string rung = plan_.rung;; rung = "run") {
            bool const on_path = plan_.only_commits() && plan_.commits.path->steps() > 1;
            OSORA_TRY(auto searched, on_path ? among_commits(rung, {false}) : among_items(rung));
            bool const gap_missing =
                searched.too_low || searched.result.verdict == BisectVerdict::not_reproducible;
            bool const is_last = searched.interrupted || !gap_missing || !is_low(rung);
            if (is_last) return finish(std::move(searched), rung, on_path);
            cli::print(bisection_.progress,
                       "rehearsals do not show the gap: it is in the ranks' own work\n");
        }
    }

private:
    [[nodiscard]] bool is_low(std::string const& rung) const {
        return rung == "rehearsal" && bisection_.bad.run.summary.run.job == "train";
    }

    [[nodiscard]] WorktreeOptions worktree_options() const {
        auto* const progress = bisection_.progress;
        return {.build = plan_.commits.build,
                .environment = context_.environment,
                .retry_failed = bisection_.anew,
                .on_build = [progress](std::string const& commit, auto const& log) {
                    constexpr std::size_t kDigits = 10;
                    cli::print(progress, "      builds {} (log: {})\n", commit.substr(0, kDigits),
                               log.string());
                    std::fflush(progress);
                }};
    }

    Result<BisectOutcome> finish(Searched first, std::string const& rung, bool on_path) {
        BisectOutcome outcome;
        auto& answer = outcome.answer;
        if (on_path) {
            take_commits(std::move(first), outcome);
            return outcome;
        }
        answer.items_log = first.log_id;
        auto const trials = std::move(first.trials);
        outcome.interrupted = first.interrupted;
        outcome.failure = std::move(first.failure);
        answer.items = std::move(first.result);
        if (outcome.interrupted || !has_commits_to_tell(answer)) return outcome;
        if (is_spent(*answer.items)) {
            answer.items->reasons.push_back("no trial is left to tell the commits apart");
            return outcome;
        }
        auto const around = surroundings_of_commits(plan_, answer);
        cli::print(bisection_.progress, "\nthe commits have a part in it; which of the {}:\n",
                   plan_.commits.path->steps());
        OSORA_TRY(auto second, among_commits(rung, around, Before{&*answer.items, &trials}));
        take_commits(std::move(second), outcome);
        return outcome;
    }

    static void take_commits(Searched searched, BisectOutcome& outcome) {
        outcome.answer.commits_log = searched.log_id;
        outcome.interrupted = outcome.interrupted || searched.interrupted;
        if (!searched.failure.empty()) outcome.failure = std::move(searched.failure);
        for (auto const& each : searched.trials) {
            bool const measured = each.failure.empty() && !each.run.empty();
            if (!measured) continue;
            outcome.answer.runs[static_cast<int>(std::ranges::count(each.flipped, '1'))] = each.run;
        }
        outcome.answer.commits = std::move(searched.result);
    }

    [[nodiscard]] bool has_commits_to_tell(BisectAnswer const& answer) const {
        if (!plan_.tries_commits() || plan_.commits.path->steps() < 2) return false;
        auto const verdict = answer.items->verdict;
        bool const names_a_cause = verdict == BisectVerdict::proved ||
                                   verdict == BisectVerdict::sufficient ||
                                   verdict == BisectVerdict::necessary;
        return names_a_cause &&
               std::ranges::any_of(answer.items->culprits, [&](Culprit const& each) {
                   return each.atoms == std::vector{plan_.atoms.commit_atom};
               });
    }

    [[nodiscard]] bool is_spent(BisectResult const& result) const {
        auto const& options = bisection_.options;
        return std::ssize(result.trials) >= options.trials_max ||
               result.cost_gpu_s >= options.budget_gpu_s;
    }

    Result<Searched> among_items(std::string const& rung) {
        auto const question = question_of(rung, item_names());
        TrialKind kind{
            .rung = rung,
            .may_be_too_low = is_low(rung),
            .choice =
                [this](std::vector<bool> const& flipped) {
                    auto choice = choice_of(plan_.atoms, flipped);
                    if (!plan_.tries_commits()) return choice;
                    auto const atom = static_cast<std::size_t>(plan_.atoms.commit_atom);
                    choice.state = flipped[atom] ? plan_.commits.path->steps() : 0;
                    return choice;
                },
            .changed = [this](std::vector<bool> const& flipped) { return names_of(flipped); },
            .line = [this](TrialRecord const& record) { return bisect_trial_line(plan_, record); }};
        return search(question, std::move(kind),
                      [this](Measure const& measure, OnDecided const& decided) {
                          return bisect(plan_.atoms.atoms, bisection_.options, measure, decided);
                      });
    }

    /// Trials of both ends of the path from the earlier search. They selected the commits as a
    /// culprit, so as in a proof they count only if that selection cannot have caused their values.
    [[nodiscard]] std::map<std::string, std::vector<db::InvestigatedTrial>> measured_ends(
        std::vector<bool> around, Before const& before) const {
        constexpr double kReuseFrom = 10;  // sigma
        std::map<std::string, std::vector<db::InvestigatedTrial>> measured;
        if (before.result == nullptr || !(before.result->d >= kReuseFrom)) return measured;
        auto const steps = static_cast<std::size_t>(plan_.commits.path->steps());
        for (bool const is_bad : {false, true}) {
            around[static_cast<std::size_t>(plan_.atoms.commit_atom)] = is_bad;
            auto& end = measured[std::string(steps, is_bad ? '1' : '0')];
            std::ranges::copy_if(*before.trials, std::back_inserter(end), [&](auto const& each) {
                return each.flipped == bits_of(around) && each.failure.empty();
            });
        }
        return measured;
    }

    /// `around`: the other atoms.
    Result<Searched> among_commits(std::string const& rung, std::vector<bool> const& around,
                                   Before const& before = {}) {
        auto options = bisection_.options;
        if (before.result != nullptr) {
            options.trials_max -= static_cast<int>(before.result->trials.size());
            options.budget_gpu_s -= before.result->cost_gpu_s;
        }
        auto const question = question_of(rung, commit_names(around));
        TrialKind kind{
            .rung = rung,
            .may_be_too_low = before.result == nullptr && is_low(rung),
            .choice =
                [this, around](std::vector<bool> const& flipped) {
                    auto choice = choice_of(plan_.atoms, around);
                    choice.state = static_cast<int>(std::ranges::count(flipped, true));
                    return choice;
                },
            .changed =
                [this, around](std::vector<bool> const& flipped) {
                    auto const at = static_cast<std::size_t>(std::ranges::count(flipped, true));
                    auto names = names_of(around);
                    names.push_back("commit " + plan_.commits.path->states[at].hash);
                    return names;
                },
            .line = [this](TrialRecord const& record) { return commit_trial_line(plan_, record); },
            .measured = measured_ends(around, before),
            .is_path = true};
        return search(
            question, std::move(kind), [&](Measure const& measure, OnDecided const& decided) {
                return bisect_commits(plan_.commits.path->steps(), options, measure, decided);
            });
    }

    template <class Engine>
    Result<Searched> search(db::InvestigationQuestion const& question, TrialKind kind,
                            Engine const& engine) {
        OSORA_TRY(auto log, TrialLog::open(protocol::StatePaths{bisection_.state}.bisects(),
                                           db::Investigation{.question = question},
                                           bisection_.anew ? LogMode::anew : LogMode::resume));
        bool const on_path = kind.is_path;
        auto const known = log.trials().size();
        cli::print(bisection_.progress, "\nrung: {}{}\n{}", rung_text(plan_, kind.rung),
                   known > 0 ? fmt::format("; {} trials are known (log {})", known, log.id()) : "",
                   bisect_trial_head());
        Trials trials(context_, bisection_, commits_, std::move(log), std::move(kind));
        OSORA_TRY(auto result, engine([&](Trial const& trial) { return trials.measure(trial); },
                                      [&](TrialRecord const& record) { trials.note(record); }));
        if (!trials.interrupted()) trials.end(end_of(result, on_path));
        return Searched{.result = std::move(result),
                        .trials = trials.log().trials(),
                        .log_id = trials.log().id(),
                        .interrupted = trials.interrupted(),
                        .too_low = trials.was_too_low(),
                        .failure = trials.failure()};
    }

    /// Record of the result, for the history.
    [[nodiscard]] db::InvestigationEnd end_of(BisectResult const& result, bool on_path) const {
        db::InvestigationEnd end{
            .verdict = boost::describe::enum_to_string(result.verdict, "undecided"),
            .relation = boost::describe::enum_to_string(result.relation, "none"),
            .p = result.proof.p,
            .explained = result.explained,
            .good_s = result.good_s,
            .bad_s = result.bad_s};
        BisectAnswer answer;
        (on_path ? answer.commits : answer.items) = result;
        for (auto const& each : shown_culprits(plan_, answer)) {
            end.culprits.push_back({.item = each.named.name,
                                    .good = each.named.good,
                                    .bad = each.named.bad,
                                    .share = each.share,
                                    .holds = result.verdict == BisectVerdict::proved});
        }
        return end;
    }

    [[nodiscard]] db::InvestigationQuestion question_of(std::string const& rung,
                                                        std::vector<std::string> names) const {
        return {.good = bisection_.good.run.summary.run.uuid,
                .bad = bisection_.bad.run.summary.run.uuid,
                .rung = rung,
                .steps = plan_.steps,
                .atoms = std::move(names)};
    }

    /// Names of the items set as in the bad run.
    [[nodiscard]] std::vector<std::string> names_of(std::vector<bool> const& flipped) const {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < flipped.size() && i < plan_.atoms.atoms.size(); ++i) {
            if (flipped[i]) names.push_back(plan_.atoms.atoms[i].name);
        }
        return names;
    }

    /// The same commit built with another recipe is another item.
    [[nodiscard]] std::vector<std::string> item_names() const {
        std::vector<std::string> names;
        for (auto const& atom : plan_.atoms.atoms) names.push_back(atom.name);
        if (plan_.tries_commits()) {
            names[static_cast<std::size_t>(plan_.atoms.commit_atom)] += recipe();
        }
        return names;
    }

    [[nodiscard]] std::vector<std::string> commit_names(std::vector<bool> const& around) const {
        std::vector<std::string> names{"commits" + recipe()};
        for (std::size_t i = 0; i < around.size(); ++i) {
            if (around[i]) names.push_back("with " + plan_.atoms.atoms[i].name);
        }
        for (auto const& state : plan_.commits.path->states) names.push_back(state.hash);
        return names;
    }

    [[nodiscard]] std::string recipe() const {
        return " built with " + protocol::encode(plan_.commits.build);
    }

    Context const& context_;
    Bisection const& bisection_;
    BisectPlan const& plan_;
    CommitRunner commits_;
};

}  // namespace

std::vector<bool> surroundings_of_commits(BisectPlan const& plan, BisectAnswer const& answer) {
    std::vector<bool> flipped(plan.atoms.atoms.size(), false);
    if (answer.items->relation != Relation::both) return flipped;
    for (auto const& culprit : answer.items->culprits) {
        for (int const atom : culprit.atoms) {
            flipped[static_cast<std::size_t>(atom)] = atom != plan.atoms.commit_atom;
        }
    }
    return flipped;
}

Result<BisectOutcome> search_for_cause(Context const& context, Bisection const& bisection) {
    return Searches(context, bisection).run();
}

}  // namespace osora::cli
