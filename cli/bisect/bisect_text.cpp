#include "cli/bisect/bisect_text.hpp"

#include "base/text/units.hpp"
#include "cli/bisect/bisect_culprit.hpp"
#include "cli/bisect/commits/commit_text.hpp"
#include "cli/text/fact_text.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr int kFlippedColumns = 40, kSettingColumns = 24;

std::string name_of(BisectPlan const& plan, ShownCulprit const& culprit) {
    if (culprit.is_commits()) return commits_name(plan, culprit);
    auto const& factors = culprit.factors;
    if (factors.size() == 1) return printable(factor_text(plan.atoms.factor(factors.front())));
    auto const& all = culprit.named;
    return printable(fmt::format("{} ({})", all.name, all.bad.empty() ? "not set" : all.bad));
}

Relation relation_of(BisectAnswer const& answer) {
    bool const is_one = answer.result().culprits.size() == 1;
    return is_one && answer.commits ? answer.commits->relation : answer.result().relation;
}

std::string shown(std::string const& value) {
    return value.empty() ? "(not set)" : clipped(printable(plain_number(value)), kSettingColumns);
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

std::string headline(BisectPlan const& plan, BisectAnswer const& answer,
                     std::vector<ShownCulprit> const& culprits) {
    auto const& result = answer.result();
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
    for (auto const& culprit : culprits) names.push_back(name_of(plan, culprit));
    std::string word(boost::describe::enum_to_string(result.verdict, "?"));
    if (names.size() == 1) {
        return fmt::format("{}: {} explains {} of the gap", word, names[0], percent);
    }
    return fmt::format("{}: {} explain {} of the gap, {}", word, fmt::join(names, " and "), percent,
                       together(relation_of(answer)));
}

/// Of one commit compared with the one before it; of several, the evidence for each.
std::string commit_proof_line(BisectResult const& result) {
    auto const& proof = result.proof;
    if (proof.pairs == 0) return "";
    if (result.culprits.size() > 1) {
        return fmt::format("each against the neighbouring commit, p = {:.2g} at most", proof.p);
    }
    return fmt::format(
        "against the neighbouring commit {:+.3g} s [{:.3g}, {:.3g}]   {} pairs, p = "
        "{:.2g}",
        proof.added.value_s, proof.added.low_s, proof.added.high_s, proof.pairs, proof.p);
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

std::string line_block(std::string_view label, std::string const& body) {
    return filled(fmt::format("{}{}", label, body), 2, kColumns);
}

std::string trial_line(TrialRecord const& record, std::string const& what) {
    auto const value = record.outcome.status == TrialStatus::measured
                           ? format_seconds(record.outcome.value_s)
                           : std::string("failed");
    return fmt::format(" {:>3}  {:<{}}  {:>9}  {}\n", record.trial.seq, what, kFlippedColumns,
                       value, record.decision);
}

/// Evidence for a headline that names a cause.
std::string cause_text(BisectPlan const& plan, BisectAnswer const& answer,
                       std::vector<ShownCulprit> const& culprits) {
    std::string text;
    if (answer.items) {
        if (auto const line = proof_line(*answer.items); !line.empty())
            text += line_block("", line);
    }
    if (answer.commits) {
        auto const line = commit_proof_line(*answer.commits);
        if (!line.empty()) text += line_block("", line);
    }
    std::vector<std::string> undo;
    for (auto const& culprit : culprits) {
        if (culprits.size() > 1) {
            text += line_block(
                "", fmt::format("{:>3.0f} %  {}", 100 * culprit.share, name_of(plan, culprit)));
        }
        for (int const index : culprit.factors) {
            undo.push_back(printable(undo_text(plan.atoms.factor(index))));
        }
        if (!culprit.is_commits()) continue;
        // Commands are not wrapped, so that they can be copied.
        for (auto const& line : commits_details(plan, answer, culprit)) text += "  " + line + "\n";
    }
    if (undo.empty()) return text;
    return text + line_block("undo: ", fmt::format("{}", fmt::join(undo, "; ")));
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

double BisectAnswer::cost_gpu_s() const {
    return (items ? items->cost_gpu_s : 0) + (commits ? commits->cost_gpu_s : 0);
}

std::size_t BisectAnswer::trials() const {
    std::size_t count = 0;
    for (auto const* each : {&items, &commits}) {
        if (!*each) continue;
        count += static_cast<std::size_t>(std::ranges::count_if(
            (*each)->trials,
            [](TrialRecord const& record) { return record.outcome.rung != kFromHistory; }));
    }
    return count;
}

std::string bisect_plan_text(BisectPlan const& plan) {
    double const gap_s = plan.bad_s - plan.good_s;
    std::string text = filled(fmt::format("bad run {}: {}/step   good run {}: {}/step   gap {}",
                                          plan.bad, format_seconds(plan.bad_s), plan.good,
                                          format_seconds(plan.good_s), format_seconds(gap_s)),
                              0, kColumns);
    auto const count = plan.atoms.atoms.size();
    double const hours = plan.expected * plan.trial_s * plan.ranks / 3600;
    std::string const differs =
        fmt::format("{} item{} differ{}", count, count == 1 ? "" : "s", count == 1 ? "s" : "");
    auto const cost = fmt::format(
        "; {} trials expected on {} node{}, ~{}, {:.2g} {} (budget {:.3g})", plan.expected,
        plan.nodes, plan.nodes == 1 ? "" : "s", format_seconds(plan.expected * plan.trial_s), hours,
        plan.gpu ? "GPU-h" : "rank-h", plan.budget_gpu_h);
    text += filled(differs + (count == 0 ? " that trials can switch" : cost), 0, kColumns);
    if (plan.expected_commits > 0 && !plan.only_commits()) {
        text += filled(fmt::format("{} more when the commits have a part in it, to tell which",
                                   plan.expected_commits),
                       0, kColumns);
    }
    for (auto const& line : commits_plan(plan)) text += filled(line, 0, kColumns);
    if (plan.sigma_runs > 0) {
        text += filled(fmt::format("spread from run to run: {}, from {} like runs of the history",
                                   format_seconds(plan.sigma_s), plan.sigma_runs),
                       0, kColumns);
    }
    if (auto const note = bisect_stage_note(plan); !note.empty()) {
        text += filled("note: " + note, 0, kColumns);
    }
    for (auto const& each : plan.atoms.not_tried) {
        text += filled(printable(fmt::format("not tried: {} ({} / {}): {}", each.name,
                                             shown(each.good), shown(each.bad), each.why)),
                       0, kColumns);
    }
    return text;
}

std::string bisect_stage_note(BisectPlan const& plan) {
    if (plan.staged.empty()) return {};
    return fmt::format(
        "trials train without the [[stage]] tables of run{} {}: what is slow only "
        "after one of them begins is not found",
        plan.staged.size() == 1 ? "" : "s", fmt::join(plan.staged, " and "));
}

std::string trial_level_text(BisectPlan const& plan, std::string const& level) {
    return fmt::format("{} of {} steps", level, plan.steps);
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
    return trial_line(record, flipped_text(plan.atoms, record.trial.flipped, kFlippedColumns));
}

std::string commit_trial_line(BisectPlan const& plan, TrialRecord const& record) {
    auto const at = static_cast<std::size_t>(std::ranges::count(record.trial.flipped, true));
    auto const& commit = plan.commits.path->states[at];
    return trial_line(
        record, clipped(printable(commit.short_hash() + " " + commit.subject), kFlippedColumns));
}

std::string bisect_answer_text(BisectPlan const& plan, BisectAnswer const& answer) {
    auto const& result = answer.result();
    auto const culprits = shown_culprits(plan, answer);
    std::string text = filled(headline(plan, answer, culprits), 0, kColumns);
    if (names_a_cause(result.verdict)) text += cause_text(plan, answer, culprits);
    for (auto const& reason : result.reasons) text += line_block("why: ", reason);
    if (!names_a_cause(result.verdict) && answer.trials() > 0 && !plan.staged.empty()) {
        text += line_block("why: ", bisect_stage_note(plan));
    }
    if (answer.items && answer.commits) {
        for (auto const& reason : answer.commits->reasons) text += line_block("commits: ", reason);
    }
    if (answer.trials() == 0) return text;
    text += line_block("", fmt::format("{} trials, {:.2g} {}", answer.trials(),
                                       answer.cost_gpu_s() / 3600, plan.gpu ? "GPU-h" : "rank-h"));
    return text +
           line_block("repeat: ", fmt::format("osora bisect {0} {1} --anew; show again: osora "
                                              "bisect {0} {1} (log {2})",
                                              plan.good, plan.bad, answer.log()));
}

}  // namespace osora::cli
