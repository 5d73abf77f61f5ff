#include "cli/bisect/scaling_text.hpp"

#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"
#include "cli/trial/tune_plan.hpp"
#include "db/analysis/report/prediction_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;
namespace json = protocol::json;

constexpr double kProvedP = 0.05;

/// How much each part grew at the largest size relative to its share of the smallest size's work,
/// largest first.
std::vector<std::pair<std::string, double>> largest_first(
    std::map<std::string, double> const& growth_s) {
    std::vector<std::pair<std::string, double>> parts(growth_s.begin(), growth_s.end());
    std::ranges::stable_sort(parts, std::greater{}, [](auto const& each) { return each.second; });
    std::erase_if(parts, [](auto const& each) { return !(each.second > 0); });
    return parts;
}

std::vector<std::pair<std::string, double>> growth_of(ScalingStep const& step) {
    return largest_first(step.growth_s);
}

double total(std::vector<std::pair<std::string, double>> const& parts) {
    double sum = 0;
    for (auto const& [name, seconds] : parts) sum += seconds;
    return sum;
}

TextTable table_of(ScalingStudy const& study) {
    std::vector<double> times;
    for (auto const& step : study.steps) times.push_back(step.step_s);
    auto const unit = time_unit(times);
    TextTable table{{{"nodes", "nodes", true},
                     {unit.name + "/step", "step_s", true},
                     {"efficiency", "efficiency", true},
                     {"per doubling", "per_doubling", true},
                     {"grew most", "largest", false}},
                    {}};
    for (auto const& step : study.steps) {
        table.rows.push_back({count_cell(step.nodes), seconds_cell(step.step_s, unit),
                              percent_cell(step.efficiency), percent_cell(step.per_doubling),
                              text_cell(step.largest)});
    }
    return table;
}

std::string headline(ScalingAnswer const& answer) {
    auto const& study = answer.study;
    auto const& last = study.steps.back();
    if (!study.has_knee) {
        return fmt::format(
            "scales to {} nodes: no doubling costs more than the spread of runs "
            "({:.0f} % efficiency)",
            last.nodes, 100 * last.efficiency);
    }
    auto const parts = growth_of(last);
    std::string named;
    if (!parts.empty()) {
        named =
            fmt::format("; of {} that a step grew, {:.0f} % is {}", format_seconds(total(parts)),
                        100 * parts.front().second / total(parts), parts.front().first);
    }
    return fmt::format("the number of nodes: knee at {} nodes, {:.0f} % efficiency at {}{}",
                       study.knee_nodes, 100 * last.efficiency, last.nodes, named);
}

std::string remedy_line(plan::TuneVerdict const& verdict) {
    return fmt::format("{} {}={}: {}", verdict.kept ? "helps" : "no use", verdict.key,
                       verdict.value,
                       verdict.failure.empty() ? verdict.decision.reason : verdict.failure);
}

}  // namespace

bool is_proved(ScalingAnswer const& answer) {
    return answer.study.has_knee && answer.p <= kProvedP;
}

std::string scaling_stage_note(RunSummary const& repeated) {
    if (plan_covers(repeated)) return {};
    return fmt::format(
        "trials train without the [[stage]] tables of run {}: what scales badly only after one "
        "of them begins is not found",
        repeated.run.number);
}

std::string scaling_answer_text(ScalingAnswer const& answer) {
    auto const& study = answer.study;
    if (study.steps.empty()) {
        std::string text = "\nfewer than two sizes were measured\n";
        for (auto const& note : answer.notes) text += filled("note: " + note, 2, kColumns);
        return text + (answer.stopped ? "stopped; the same command continues\n" : "");
    }
    auto const word = is_proved(answer) ? "proved: " : "";
    std::string text =
        "\n" + draw_text(table_of(study)) + "\n" + filled(word + headline(answer), 0, kColumns);
    text +=
        filled(fmt::format("t(n) = {} seconds of the work of {} node{}", study.law.text(),
                           study.steps.front().nodes, study.steps.front().nodes == 1 ? "" : "s"),
               2, kColumns);
    if (study.has_knee) {
        for (auto const& [name, seconds] : growth_of(study.steps.back())) {
            text += filled(fmt::format("{:+.3g} s  {}", seconds, name), 2, kColumns);
        }
        auto const classes = largest_first(study.steps.back().collectives_growth_s);
        if (!classes.empty()) {
            text += filled("exposed collectives by class, waiting for slower ranks included:", 2,
                           kColumns);
        }
        for (auto const& [name, seconds] : classes) {
            text += filled(fmt::format("{:+.3g} s  {}", seconds, printable(name)), 4, kColumns);
        }
        text += filled(fmt::format("p = {:.2g} that {} nodes are no slower than {} for the same "
                                   "work",
                                   answer.p, study.steps.back().nodes, study.knee_nodes),
                       2, kColumns);
    }
    for (auto const& each : answer.remedies) text += filled(remedy_line(each), 2, kColumns);
    for (auto const* notes : {&study.notes, &answer.notes}) {
        for (auto const& note : *notes) text += filled("note: " + printable(note), 2, kColumns);
    }
    text += filled(fmt::format("{} trials; the same command shows this again, --anew measures "
                               "again (log {})",
                               answer.trials.size(), answer.log),
                   2, kColumns);
    if (answer.stopped) text += "stopped; the same command continues\n";
    return text;
}

std::string scaling_cost_text(ScalingCost const& cost) {
    TextTable table{
        {{"nodes", "nodes", true}, {"trials", "trials", true}, {"GPU-h", "gpu_h", true}}, {}};
    double gpu_s = 0;
    int trials = 0;
    for (auto const& size : cost.sizes) {
        table.rows.push_back({count_cell(size.nodes), count_cell(size.trials),
                              number_cell(size.gpu_s / kSecondsPerHour)});
        gpu_s += size.gpu_s;
        trials += size.trials;
    }
    auto const over =
        gpu_s > cost.budget_gpu_s ? "; more than the budget, which ends it early" : "";
    std::string notes;
    for (auto const& note : cost.notes) notes += filled("note: " + note, 0, kColumns);
    return draw_text(table) +
           filled(fmt::format("{} trials, each a {} of {} steps: {}, {:.2g} GPU-h of {:.3g}{}. "
                              "Below {:.0f} % efficiency remedies are tried as well.",
                              trials, cost.rung, cost.steps, format_seconds(cost.wall_s),
                              gpu_s / kSecondsPerHour, cost.budget_gpu_s / kSecondsPerHour, over,
                              100 * cost.remedies_below),
                  0, kColumns) +
           notes;
}

json::object scaling_cost_json(ScalingCost const& cost) {
    json::array sizes;
    for (auto const& size : cost.sizes) {
        sizes.push_back(json::object{{"nodes", size.nodes},
                                     {"trials", size.trials},
                                     {"gpu_s", protocol::to_json(size.gpu_s)}});
    }
    return {{"series", cost.series},
            {"rung", cost.rung},
            {"steps", cost.steps},
            {"sizes", sizes},
            {"wall_s", cost.wall_s},
            {"budget_gpu_s", cost.budget_gpu_s},
            {"notes", protocol::to_json(cost.notes)}};
}

char const* scaling_verdict(ScalingAnswer const& answer) {
    return is_proved(answer) ? "proved" : answer.study.has_knee ? "sufficient" : "not_reproducible";
}

json::object scaling_answer_json(ScalingAnswer const& answer) {
    auto const& study = answer.study;
    json::array steps, culprits, remedies, trials, notes;
    for (auto const& each : answer.trials) {
        bool const ran = each.failure.empty();
        trials.push_back(json::object{{"seq", trials.size() + 1},
                                      {"flips", protocol::to_json(each.sets)},
                                      {"nodes", each.nodes},
                                      {"value_s", protocol::to_json(ran ? each.step_s : NAN)},
                                      {"rung", answer.rung},
                                      {"decision", each.failure},
                                      {"run", each.run}});
    }
    for (auto const* list : {&study.notes, &answer.notes}) {
        for (auto const& note : *list) notes.emplace_back(note);
    }
    for (auto const& step : study.steps) {
        steps.push_back(
            json::object{{"nodes", step.nodes},
                         {"step_s", protocol::to_json(step.step_s)},
                         {"efficiency", protocol::to_json(step.efficiency)},
                         {"per_doubling", protocol::to_json(step.per_doubling)},
                         {"growth_s", protocol::to_json(step.growth_s)},
                         {"collectives_growth_s", protocol::to_json(step.collectives_growth_s)},
                         {"largest", step.largest}});
    }
    if (study.has_knee) {
        json::object culprit{
            {"factor", "resources.nodes"},
            {"good", std::to_string(study.knee_nodes)},
            {"bad", std::to_string(study.steps.back().nodes)},
            {"share", 1.0},
            {"p", protocol::to_json(answer.p)},
            {"grew", protocol::to_json(study.steps.back().growth_s)},
            {"collectives", protocol::to_json(study.steps.back().collectives_growth_s)}};
        culprits.push_back(std::move(culprit));
    }
    for (auto const& each : answer.remedies) {
        json::object remedy{{"key", each.key}, {"value", each.value}, {"helps", each.kept}};
        add_gain(remedy, each);
        remedies.push_back(std::move(remedy));
    }
    return {{"series", answer.series},
            {"verdict", scaling_verdict(answer)},
            {"culprits", std::move(culprits)},
            {"knee_nodes", study.has_knee ? json::value(study.knee_nodes) : json::value()},
            {"law", study.law.text()},
            {"sizes", std::move(steps)},
            {"remedies", std::move(remedies)},
            {"rung", answer.rung},
            {"notes", std::move(notes)},
            {"trials", std::move(trials)},
            {"cost_gpu_s", protocol::to_json(answer.cost_gpu_s)},
            {"stopped", answer.stopped},
            {"log", answer.log}};
}

}  // namespace osora::cli
