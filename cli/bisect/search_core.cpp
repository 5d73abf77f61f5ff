#include "cli/bisect/search_core.hpp"

#include "base/check.hpp"
#include "cli/bisect/bisect_culprit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace osora::cli {
namespace {

using namespace db::analysis;

/// The same commit built with another recipe is another item.
std::string recipe_text(BisectPlan const& plan) {
    return " built with " + protocol::encode(plan.commits.build);
}

std::vector<std::string> item_names(BisectPlan const& plan) {
    std::vector<std::string> names;
    for (auto const& atom : plan.atoms.atoms) names.push_back(atom.name);
    if (plan.tries_commits()) {
        names[static_cast<std::size_t>(plan.atoms.commit_atom)] += recipe_text(plan);
    }
    return names;
}

std::vector<std::string> path_names(BisectPlan const& plan, std::vector<bool> const& around) {
    std::vector<std::string> names{"commits" + recipe_text(plan)};
    for (std::size_t i = 0; i < around.size(); ++i) {
        if (around[i]) names.push_back("with " + plan.atoms.atoms[i].name);
    }
    for (auto const& state : plan.commits.path->states) names.push_back(state.hash);
    return names;
}

/// State of the path after the flipped commits.
int state_of_path(std::vector<bool> const& flipped) {
    return static_cast<int>(std::ranges::count(flipped, true));
}

}  // namespace

std::string bits_of(std::vector<bool> const& flipped) {
    std::string bits;
    for (bool const bit : flipped) bits += bit ? '1' : '0';
    return bits;
}

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

SearchCore::SearchCore(BisectPlan const& plan, SearchRules rules)
    : plan_(plan), rules_(std::move(rules)), next_(first_search(plan.level)) {}

void SearchCore::ended(SearchEnd end) {
    OSORA_CHECK(next_.has_value(), "the caller asks next() first");
    SearchStep const step = std::move(*next_);
    next_.reset();
    bool const is_first = !outcome_.answer.items;
    bool const gap_missing = end.too_low || end.result.verdict == BisectVerdict::not_reproducible;
    if (is_first && gap_missing && !end.interrupted && is_low(step.level())) {
        next_ = first_search("run");
        next_->notice = "rehearsals do not show the gap: it is in the ranks' own work\n";
    } else if (step.is_path) {
        take_commits(std::move(end));
    } else {
        take_items(step.level(), std::move(end));
    }
}

bool SearchCore::is_low(std::string const& level) const {
    return level == "rehearsal" && rules_.trains;
}

SearchStep SearchCore::first_search(std::string level) const {
    bool const on_path = plan_.only_commits() && plan_.commits.path->steps() > 1;
    bool const may_be_too_low = is_low(level);
    auto step = on_path ? among_commits(std::move(level), {false}) : among_items(std::move(level));
    step.may_be_too_low = may_be_too_low;
    return step;
}

SearchStep SearchCore::among_items(std::string level) const {
    return {.question = {.good = rules_.good,
                         .bad = rules_.bad,
                         .rung = std::move(level),
                         .steps = plan_.steps,
                         .atoms = item_names(plan_)},
            .options = rules_.options};
}

SearchStep SearchCore::among_commits(std::string level, std::vector<bool> around) const {
    return {.question = {.good = rules_.good,
                         .bad = rules_.bad,
                         .rung = std::move(level),
                         .steps = plan_.steps,
                         .atoms = path_names(plan_, around)},
            .options = rules_.options,
            .is_path = true,
            .around = std::move(around)};
}

/// With what the search among the items left of the budget. Both ends of the path are among its
/// trials. They selected the commits as a culprit, so as in a proof they count only if that
/// selection cannot have caused their values.
SearchStep SearchCore::commits_after_items(std::string level,
                                           std::vector<db::InvestigatedTrial> const& trials) const {
    constexpr double kReuseFrom = 10;  // sigma
    auto const& items = *outcome_.answer.items;
    auto step = among_commits(std::move(level), surroundings_of_commits(plan_, outcome_.answer));
    step.options.trials_max -= static_cast<int>(items.trials.size());
    step.options.budget_gpu_s -= items.cost_gpu_s;
    auto const commits = static_cast<std::size_t>(plan_.commits.path->steps());
    step.notice = fmt::format("\nthe commits have a part in it; which of the {}:\n", commits);
    if (!(items.d >= kReuseFrom)) return step;
    for (bool const is_bad : {false, true}) {
        auto flipped = step.around;
        flipped[static_cast<std::size_t>(plan_.atoms.commit_atom)] = is_bad;
        auto& end = step.measured[std::string(commits, is_bad ? '1' : '0')];
        std::ranges::copy_if(trials, std::back_inserter(end), [&](auto const& each) {
            return each.flipped == bits_of(flipped) && each.failure.empty();
        });
    }
    return step;
}

bool SearchCore::names_the_commits() const {
    if (!plan_.tries_commits() || plan_.commits.path->steps() < 2) return false;
    auto const& items = *outcome_.answer.items;
    bool const names_a_cause = items.verdict == BisectVerdict::proved ||
                               items.verdict == BisectVerdict::sufficient ||
                               items.verdict == BisectVerdict::necessary;
    return names_a_cause && std::ranges::any_of(items.culprits, [&](Culprit const& each) {
               return each.atoms == std::vector{plan_.atoms.commit_atom};
           });
}

bool SearchCore::is_spent() const {
    auto const& items = *outcome_.answer.items;
    return std::ssize(items.trials) >= rules_.options.trials_max ||
           items.cost_gpu_s >= rules_.options.budget_gpu_s;
}

void SearchCore::take_items(std::string level, SearchEnd end) {
    auto& answer = outcome_.answer;
    answer.items_log = std::move(end.log_id);
    answer.items = std::move(end.result);
    outcome_.interrupted = end.interrupted;
    outcome_.failure = std::move(end.failure);
    if (outcome_.interrupted || !names_the_commits()) return;
    if (is_spent()) {
        answer.items->reasons.push_back("no trial is left to tell the commits apart");
        return;
    }
    next_ = commits_after_items(std::move(level), end.trials);
}

void SearchCore::take_commits(SearchEnd end) {
    auto& answer = outcome_.answer;
    answer.commits_log = std::move(end.log_id);
    outcome_.interrupted = end.interrupted;
    if (!end.failure.empty()) outcome_.failure = std::move(end.failure);
    for (auto const& each : end.trials) {
        bool const measured = each.failure.empty() && !each.run.empty();
        if (!measured) continue;
        answer.runs[static_cast<int>(std::ranges::count(each.flipped, '1'))] = each.run;
    }
    answer.commits = std::move(end.result);
}

TrialChoice trial_choice(BisectPlan const& plan, SearchStep const& step,
                         std::vector<bool> const& flipped) {
    auto choice = choice_of(plan.atoms, step.is_path ? step.around : flipped);
    if (step.is_path) {
        choice.state = state_of_path(flipped);
    } else if (plan.tries_commits()) {
        auto const atom = static_cast<std::size_t>(plan.atoms.commit_atom);
        choice.state = flipped[atom] ? plan.commits.path->steps() : 0;
    }
    return choice;
}

std::vector<std::string> changed_names(BisectPlan const& plan, SearchStep const& step,
                                       std::vector<bool> const& flipped) {
    auto const& items = step.is_path ? step.around : flipped;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < items.size() && i < plan.atoms.atoms.size(); ++i) {
        if (items[i]) names.push_back(plan.atoms.atoms[i].name);
    }
    if (step.is_path) {
        auto const at = static_cast<std::size_t>(state_of_path(flipped));
        names.push_back("commit " + plan.commits.path->states[at].hash);
    }
    return names;
}

db::InvestigationEnd investigation_end(BisectPlan const& plan, SearchStep const& step,
                                       BisectResult const& result) {
    db::InvestigationEnd end{
        .verdict = boost::describe::enum_to_string(result.verdict, "undecided"),
        .relation = boost::describe::enum_to_string(result.relation, "none"),
        .p = result.proof.p,
        .explained = result.explained,
        .good_s = result.good_s,
        .bad_s = result.bad_s};
    BisectAnswer answer;
    (step.is_path ? answer.commits : answer.items) = result;
    for (auto const& each : shown_culprits(plan, answer)) {
        end.culprits.push_back({.item = each.named.name,
                                .good = each.named.good,
                                .bad = each.named.bad,
                                .share = each.share,
                                .holds = result.verdict == BisectVerdict::proved});
    }
    return end;
}

}  // namespace osora::cli
