// The answer of osora bisect for scripts.
#include "cli/bisect_culprit.hpp"
#include "cli/bisect_text.hpp"

#include <utility>

namespace osora::cli {
namespace {

using namespace db::analysis;
namespace json = protocol::json;

json::array culprits_json(BisectPlan const& plan, BisectResult const& result) {
    json::array culprits;
    for (auto const& culprit : result.culprits) {
        json::array factors;
        for (int const index : culprit_factors(plan, culprit)) {
            auto const& factor = plan.atoms.factor(index);
            factors.push_back(json::object{{"factor", factor.name},
                                           {"kind", protocol::to_json(factor.kind)},
                                           {"good", factor.good},
                                           {"bad", factor.bad}});
        }
        auto const all = named_culprit(plan, culprit);
        culprits.push_back(json::object{{"factor", all.name},
                                        {"good", all.good},
                                        {"bad", all.bad},
                                        {"share", protocol::to_json(culprit.share)},
                                        {"p", protocol::to_json(result.proof.p)},
                                        {"factors", std::move(factors)}});
    }
    return culprits;
}

json::array trials_json(BisectPlan const& plan, BisectResult const& result) {
    json::array trials;
    for (auto const& record : result.trials) {
        json::array flips;
        for (std::size_t i = 0; i < record.trial.flipped.size(); ++i) {
            if (record.trial.flipped[i]) flips.emplace_back(plan.atoms.atoms[i].name);
        }
        trials.push_back(json::object{{"seq", record.trial.seq},
                                      {"phase", protocol::to_json(record.trial.phase)},
                                      {"flips", std::move(flips)},
                                      {"status", protocol::to_json(record.outcome.status)},
                                      {"value_s", protocol::to_json(record.outcome.value_s)},
                                      {"rung", record.outcome.rung},
                                      {"decision", record.decision}});
    }
    return trials;
}

}  // namespace

json::object bisect_json(BisectPlan const& plan, BisectResult const& result,
                         std::string const& id) {
    json::array not_tried;
    for (auto const& each : plan.atoms.not_tried) {
        not_tried.push_back(json::object{
            {"factor", each.name}, {"good", each.good}, {"bad", each.bad}, {"why", each.why}});
    }
    json::array items;
    for (auto const& atom : plan.atoms.atoms) items.emplace_back(atom.name);
    json::array reasons;
    for (auto const& each : result.reasons) reasons.emplace_back(each);
    return {{"good", plan.good},
            {"bad", plan.bad},
            {"verdict", protocol::to_json(result.verdict)},
            {"relation", protocol::to_json(result.relation)},
            {"culprits", culprits_json(plan, result)},
            {"explained", protocol::to_json(result.explained)},
            {"good_s", protocol::to_json(result.good_s)},
            {"bad_s", protocol::to_json(result.bad_s)},
            {"sigma_s", protocol::to_json(result.sigma_s)},
            {"p", protocol::to_json(result.proof.p)},
            {"items", std::move(items)},
            {"expected_trials", plan.expected},
            {"not_tried", std::move(not_tried)},
            {"reasons", std::move(reasons)},
            {"trials", trials_json(plan, result)},
            {"cost_gpu_s", protocol::to_json(result.cost_gpu_s)},
            {"log", id}};
}

}  // namespace osora::cli
