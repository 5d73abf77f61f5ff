#include "cli/bisect_text.hpp"

#include "base/units.hpp"
#include "cli/bisect_culprit.hpp"
#include "cli/fact_text.hpp"
#include "cli/terminal.hpp"
#include "cli/text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr int kColumns = 80, kFlippedColumns = 40, kValueColumns = 24;

std::string name_of(BisectPlan const& plan, Culprit const& culprit) {
    auto const factors = culprit_factors(plan, culprit);
    if (factors.size() == 1) return printable(factor_text(plan.atoms.factor(factors.front())));
    auto const all = named_culprit(plan, culprit);
    return printable(fmt::format("{} ({})", all.name, all.bad.empty() ? "not set" : all.bad));
}

std::string shown(std::string const& value) {
    return value.empty() ? "(not set)" : clipped(printable(plain_number(value)), kValueColumns);
}

std::string together(Relation relation) {
    switch (relation) {
        case Relation::both:
            return "only together";
        case Relation::either:
            return "each alone is enough";
        case Relation::additive:
            return "each has its part";
        case Relation::none:
        case Relation::single:
            break;
    }
    return "";
}

std::string headline(BisectPlan const& plan, BisectResult const& result) {
    auto const percent = fmt::format("{:.0f} %", 100 * result.explained);
    switch (result.verdict) {
        case BisectVerdict::not_reproducible:
            return fmt::format(
                "not reproducible: trials of run {} are no slower than those of run {} ({} against "
                "{} a step)",
                plan.bad, plan.good, format_seconds(result.bad_s), format_seconds(result.good_s));
        case BisectVerdict::below_resolution:
            return fmt::format(
                "below resolution: the gap of {} is too small against the spread "
                "of {} from run to run",
                format_seconds(result.bad_s - result.good_s), format_seconds(result.sigma_s));
        case BisectVerdict::undecided:
            return "undecided: the search has ended before an answer";
        default:
            break;
    }
    std::vector<std::string> names;
    for (auto const& culprit : result.culprits) names.push_back(name_of(plan, culprit));
    std::string word(boost::describe::enum_to_string(result.verdict, "?"));
    if (result.culprits.size() == 1) {
        return fmt::format("{}: {} explains {} of the gap", word, names[0], percent);
    }
    return fmt::format("{}: {} explain {} of the gap, {}", word, fmt::join(names, " and "), percent,
                       together(result.relation));
}

std::string proof_line(BisectResult const& result) {
    auto const& proof = result.proof;
    if (proof.blocks == 0) return "";
    return fmt::format(
        "good + {} {:+.3g} s [{:.3g}, {:.3g}]   bad - {} {:+.3g} s [{:.3g}, "
        "{:.3g}]   {} blocks, p = {:.2g}",
        result.culprits.size() > 1 ? "them" : "it", proof.added.value_s, proof.added.low_s,
        proof.added.high_s, result.culprits.size() > 1 ? "them" : "it", -proof.removed.value_s,
        -proof.removed.high_s, -proof.removed.low_s, proof.blocks, proof.p);
}

bool names_a_cause(BisectVerdict verdict) {
    return verdict == BisectVerdict::proved || verdict == BisectVerdict::sufficient ||
           verdict == BisectVerdict::necessary;
}

std::string block(std::string_view label, std::string const& body) {
    return filled(fmt::format("{}{}", label, body), 2, kColumns);
}

}  // namespace

std::string factor_text(Factor const& factor) {
    if (factor.bad.empty()) return factor.name + " not set";
    return fmt::format("{} = {}", factor.name, plain_number(factor.bad));
}

std::string undo_text(Factor const& factor) {
    switch (factor.kind) {
        case FactorKind::env:
            return factor.good.empty() ? "unset " + factor.name
                                       : fmt::format("{}={}", factor.name, factor.good);
        case FactorKind::node_set:
            return fmt::format("nodes {}", factor.good);
        default:
            break;
    }
    if (factor.good.empty()) return fmt::format("{} left out of the run file", factor.name);
    return fmt::format("--set {}={}", factor.name, plain_number(factor.good));
}

std::string bisect_plan_text(BisectPlan const& plan) {
    double const gap_s = plan.bad_s - plan.good_s;
    std::string text = filled(fmt::format("bad run {}: {}/step   good run {}: {}/step   gap {}",
                                          plan.bad, format_seconds(plan.bad_s), plan.good,
                                          format_seconds(plan.good_s), format_seconds(gap_s)),
                              0, kColumns);
    auto const count = plan.atoms.atoms.size();
    double const hours = plan.expected * plan.trial_s * plan.ranks / 3600;
    text += filled(
        fmt::format("{} item{} differ{}; {} trials expected on {} node{}, ~{}, {:.2g} {} (budget "
                    "{:.3g})",
                    count, count == 1 ? "" : "s", count == 1 ? "s" : "", plan.expected, plan.nodes,
                    plan.nodes == 1 ? "" : "s", format_seconds(plan.expected * plan.trial_s), hours,
                    plan.gpu ? "GPU-h" : "rank-h", plan.budget_gpu_h),
        0, kColumns);
    for (auto const& each : plan.atoms.not_tried) {
        text += filled(printable(fmt::format("not tried: {} ({} / {}): {}", each.name,
                                             shown(each.good), shown(each.bad), each.why)),
                       0, kColumns);
    }
    return text;
}

std::string bisect_factor_text(BisectPlan const& plan) {
    TextTable table{{{"item", "item", false},
                     {"good", "good", false},
                     {"bad", "bad", false},
                     {"prior", "prior", true}},
                    {}};
    for (auto const& atom : plan.atoms.atoms) {
        for (int const index : atom.factors) {
            auto const& factor = plan.atoms.factor(index);
            table.rows.push_back({text_cell(printable(factor.name)), text_cell(shown(factor.good)),
                                  text_cell(shown(factor.bad)), number_cell(atom.prior)});
        }
    }
    return draw_text(table);
}

std::string bisect_trial_head() {
    return fmt::format(" {:>3}  {:<{}}  {:>9}  {}\n", "#", "flipped", kFlippedColumns, "a step",
                       "decides");
}

std::string bisect_trial_line(BisectPlan const& plan, TrialRecord const& record) {
    auto const flipped = flipped_text(plan.atoms, record.trial.flipped, kFlippedColumns);
    auto const value = record.outcome.status == TrialStatus::measured
                           ? format_seconds(record.outcome.value_s)
                           : std::string("failed");
    return fmt::format(" {:>3}  {:<{}}  {:>9}  {}\n", record.trial.seq, flipped, kFlippedColumns,
                       value, record.decision);
}

std::string bisect_answer_text(BisectPlan const& plan, BisectResult const& result,
                               std::string const& id) {
    std::string text = filled(headline(plan, result), 0, kColumns);
    if (names_a_cause(result.verdict)) {
        if (auto const proof = proof_line(result); !proof.empty()) text += block("", proof);
        if (result.culprits.size() > 1) {
            for (auto const& culprit : result.culprits) {
                text += block(
                    "", fmt::format("{:>3.0f} %  {}", 100 * culprit.share, name_of(plan, culprit)));
            }
        }
        std::vector<std::string> undo;
        for (auto const& culprit : result.culprits) {
            for (int const index : culprit_factors(plan, culprit)) {
                undo.push_back(printable(undo_text(plan.atoms.factor(index))));
            }
        }
        text += block("undo: ", fmt::format("{}", fmt::join(undo, "; ")));
    }
    for (auto const& reason : result.reasons) text += block("why: ", reason);
    if (result.trials.empty()) return text;
    text += block("", fmt::format("{} trials, {:.2g} {}", result.trials.size(),
                                  result.cost_gpu_s / 3600, plan.gpu ? "GPU-h" : "rank-h"));
    return text + block("repeat: ", fmt::format("osora bisect {0} {1} --anew; show again: osora "
                                                "bisect {0} {1} (log {2})",
                                                plan.good, plan.bad, id));
}

}  // namespace osora::cli
