// The answer of osora bisect for scripts.
#include "cli/bisect/bisect_culprit.hpp"
#include "cli/bisect/bisect_text.hpp"
#include "cli/bisect/commits/commit_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::cli {
namespace {

using namespace db::analysis;
namespace json = protocol::json;

json::array culprits_json(BisectPlan const& plan, BisectAnswer const& answer) {
    json::array culprits;
    for (auto const& culprit : shown_culprits(plan, answer)) {
        json::array factors;
        for (int const index : culprit.factors) {
            auto const& factor = plan.atoms.factor(index);
            factors.push_back(json::object{{"factor", factor.name},
                                           {"kind", protocol::to_json(factor.kind)},
                                           {"good", factor.good},
                                           {"bad", factor.bad}});
        }
        json::object shown{
            {"factor", culprit.named.name},      {"good", culprit.named.good},
            {"bad", culprit.named.bad},          {"share", protocol::to_json(culprit.share)},
            {"p", protocol::to_json(culprit.p)}, {"factors", std::move(factors)}};
        if (culprit.is_commits()) shown["commits"] = commits_json(plan, culprit);
        culprits.push_back(std::move(shown));
    }
    return culprits;
}

/// "commit 1a2b..." for a trial of one commit, else the items set as in the bad run.
json::array flips_of(BisectPlan const& plan, std::vector<bool> const& flipped, bool is_commit) {
    json::array flips;
    if (is_commit) {
        auto const at = static_cast<std::size_t>(std::ranges::count(flipped, true));
        flips.emplace_back("commit " + plan.commits.path->states[at].hash);
        return flips;
    }
    for (std::size_t i = 0; i < flipped.size(); ++i) {
        if (flipped[i]) flips.emplace_back(plan.atoms.atoms[i].name);
    }
    return flips;
}

void add_trials(BisectPlan const& plan, BisectResult const& result, bool are_commits,
                json::array& trials) {
    for (auto const& record : result.trials) {
        auto flips = flips_of(plan, record.trial.flipped, are_commits);
        trials.push_back(json::object{{"seq", static_cast<int>(trials.size()) + 1},
                                      {"phase", protocol::to_json(record.trial.phase)},
                                      {"flips", std::move(flips)},
                                      {"status", protocol::to_json(record.outcome.status)},
                                      {"value_s", protocol::to_json(record.outcome.value_s)},
                                      {"rung", record.outcome.rung},
                                      {"decision", record.decision}});
    }
}

json::array trials_json(BisectPlan const& plan, BisectAnswer const& answer) {
    json::array trials;
    if (answer.items) add_trials(plan, *answer.items, false, trials);
    if (answer.commits) add_trials(plan, *answer.commits, true, trials);
    return trials;
}

json::array reasons_json(BisectAnswer const& answer) {
    json::array reasons;
    for (auto const* each : {&answer.items, &answer.commits}) {
        if (!*each) continue;
        for (auto const& reason : (*each)->reasons) reasons.emplace_back(reason);
    }
    return reasons;
}

/// The largest p: every named culprit depends on it.
double p_of(BisectAnswer const& answer) {
    double p = kNotMeasured;
    for (auto const* each : {&answer.items, &answer.commits}) {
        if (*each && !(*each)->culprits.empty()) p = std::fmax(p, (*each)->proof.p);
    }
    return p;
}

}  // namespace

json::object bisect_json(BisectPlan const& plan, BisectAnswer const& answer) {
    auto const& result = answer.result();
    json::array not_tried;
    for (auto const& each : plan.atoms.not_tried) {
        not_tried.push_back(json::object{
            {"factor", each.name}, {"good", each.good}, {"bad", each.bad}, {"why", each.why}});
    }
    json::array items;
    for (auto const& atom : plan.atoms.atoms) items.emplace_back(atom.name);
    json::object shown{{"good", plan.good},
                       {"bad", plan.bad},
                       {"verdict", protocol::to_json(result.verdict)},
                       {"relation", protocol::to_json(result.relation)},
                       {"culprits", culprits_json(plan, answer)},
                       {"explained", protocol::to_json(result.explained)},
                       {"good_s", protocol::to_json(result.good_s)},
                       {"bad_s", protocol::to_json(result.bad_s)},
                       {"sigma_s", protocol::to_json(result.sigma_s)},
                       {"sigma_runs", plan.sigma_runs},
                       {"p", protocol::to_json(p_of(answer))},
                       {"items", std::move(items)},
                       {"expected_trials", plan.expected},
                       {"not_tried", std::move(not_tried)},
                       {"reasons", reasons_json(answer)},
                       {"trials", trials_json(plan, answer)},
                       {"cost_gpu_s", protocol::to_json(answer.cost_gpu_s())},
                       {"log", answer.log()}};
    if (!plan.staged.empty()) shown["notes"] = json::array{json::value(bisect_stage_note(plan))};
    if (!plan.tries_commits()) return shown;
    shown["expected_commit_trials"] = plan.expected_commits;
    shown["commit_path"] = commit_path_json(plan);
    shown["commit_log"] = answer.commits_log;
    return shown;
}

}  // namespace osora::cli
