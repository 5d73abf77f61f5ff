// Leaves out of the tables what accounts for less than a thousandth of the step.
#include "cli/report/whatif_text.hpp"

#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::cli {
namespace {

using namespace db::whatif;
namespace json = protocol::json;

constexpr int kWhatifIndent = 11;
constexpr double kShownExcess = 1e-3;  // S - 1; smaller rows are noise
constexpr std::size_t kWorkersShown = 5;
constexpr std::size_t kStagesShown = 8;

std::string whole_percent(double share) {
    return std::isnan(share) ? "-" : fmt::format("{:.0f} %", std::round(100 * share) + 0.0);
}

/// Above 100 %: without these ops the rest is faster than typical.
std::string removed(double share) {
    return share > 1 ? "all of the straggling (" + whole_percent(share) + ")"
                     : whole_percent(share) + " of the straggling";
}

std::string answer(WhatIf const& found) {
    double const straggling_s = std::max(found.no_delay_s - found.ideal_s, 0.0);
    return fmt::format(
        "{} of the {} step ({}, S = {:.4f}): with every op as long as is typical "
        "of its type it would take {}",
        format_seconds(straggling_s), format_seconds(found.no_delay_s),
        whole_percent(straggling_s / found.no_delay_s), found.slowdown,
        format_seconds(found.ideal_s));
}

std::string holder(WhatIf const& found) {
    switch (found.holder) {
        case Holder::none:
            return fmt::format("none: below S = {} workers differ as they always do", kStraggling);
        case Holder::worker:
            return fmt::format("{}: idealising it takes {} away", found.held_by,
                               removed(found.of_worst_workers.removed));
        case Holder::last_stage:
            return fmt::format(
                "{}: idealising it takes {} away; stages of equal "
                "work would be faster",
                found.held_by, removed(found.of_last_stage.removed));
        case Holder::op_type:
            return fmt::format(
                "{}, on workers that change: data of unequal length, or hosts that "
                "stall",
                found.held_by);
        case Holder::spread:
            break;
    }
    return "no single worker, stage or op type holds half of it";
}

struct Entry {
    std::string name;
    double slowdown = 1;
};

std::vector<Entry> worth_showing(std::vector<Entry> entries, std::size_t most) {
    std::ranges::stable_sort(entries, std::greater{}, &Entry::slowdown);
    std::erase_if(entries, [](Entry const& each) { return each.slowdown < 1 + kShownExcess; });
    if (entries.size() > most) entries.resize(most);
    return entries;
}

TextTable table_of(WhatIf const& found) {
    std::vector<Entry> types, stages, workers;
    for (auto const& [type, slowdown] : found.slowdown_of_type) types.push_back({type, slowdown});
    for (std::size_t i = 0; i < found.slowdown_of_stage.size(); ++i) {
        stages.push_back({fmt::format("stage {}", i), found.slowdown_of_stage[i]});
    }
    for (auto const& worker : found.workers) {
        workers.push_back(
            {fmt::format("dp rank {} of stage {}", worker.dp_rank, worker.stage), worker.slowdown});
    }
    if (found.pp_size == 1) stages.clear();
    if (found.workers.size() == 1) workers.clear();
    auto const unit = time_unit({found.no_delay_s - found.ideal_s});
    TextTable table;
    table.columns = {{"put back alone", "what", false}, {"S", "slowdown"}, {unit.name, "added_s"}};
    std::pair<std::vector<Entry>, std::size_t> const groups[] = {
        {types, types.size()}, {stages, kStagesShown}, {workers, kWorkersShown}};
    for (auto const& [entries, most] : groups) {
        for (auto const& each : worth_showing(entries, most)) {
            double const added_s = (each.slowdown - 1) * found.ideal_s;
            table.rows.push_back({text_cell(each.name),
                                  text_cell(fmt::format("{:.4f}", each.slowdown)),
                                  seconds_cell(added_s, unit)});
        }
    }
    return table;
}

std::string left_out(WhatIf const& found) {
    std::string text;
    if (!found.steps_left_out.empty()) {
        text += block(
            "left out",
            fmt::format("{} with other ops than most (the first: step {})",
                        counted(found.steps_left_out.size(), "step"), found.steps_left_out.front()),
            kWhatifIndent);
    }
    if (found.rows_unreadable > 0) {
        auto const rows = static_cast<std::size_t>(found.rows_unreadable);
        text += block("unreadable", counted(rows, "row") + "; " + found.first_fault, kWhatifIndent);
    }
    for (auto const& [name, count] : found.unknown_ops) {
        text += block("ignored",
                      fmt::format("{} ({}): no step graph has it", name,
                                  counted(static_cast<std::size_t>(count), "row")),
                      kWhatifIndent);
    }
    if (found.dp_size < found.shape.dp_size || found.pp_size < found.shape.pp_size) {
        text += block(
            "note",
            fmt::format("the trace holds dp {} x pp {} of the job's dp {} x pp {}", found.dp_size,
                        found.pp_size, found.shape.dp_size, found.shape.pp_size),
            kWhatifIndent);
    }
    return text;
}

}  // namespace

std::string whatif_text(WhatIf const& found, std::string const& file) {
    std::string text = filled(
        printable(fmt::format("what-if of {}{}{} · {} · dp {} · pp {}", clipped(file, 40),
                              found.shape.name.empty() ? "" : " · ", found.shape.name,
                              counted(found.steps.size(), "step"), found.dp_size, found.pp_size)),
        0, kColumns);
    text += "\n" + block("straggling", answer(found), kWhatifIndent) +
            block("held by", holder(found), kWhatifIndent);
    double const late_s = found.actual_s - found.no_delay_s;
    if (late_s > kShownExcess * found.no_delay_s) {
        text += block("besides",
                      fmt::format("{} a step pass before ops start that could have: "
                                  "data, host, launches",
                                  format_seconds(late_s)),
                      kWhatifIndent);
    }
    auto const table = table_of(found);
    if (!table.rows.empty()) text += "\n" + draw_text(table) + "\n";
    std::string shares;
    bool const known = !std::isnan(found.of_worst_workers.removed);
    if (known && found.pp_size > 1) {
        shares = fmt::format("last stage (M_S) {}", whole_percent(found.of_last_stage.removed));
    }
    if (known && found.workers.size() > 1) {
        shares += fmt::format("{}worst {} of {} workers (M_W) {}", shares.empty() ? "" : " · ",
                              found.worst_workers, found.workers.size(),
                              whole_percent(found.of_worst_workers.removed));
    }
    if (!shares.empty())
        text += block("idealised", shares + " of the straggling goes away", kWhatifIndent);
    return text + left_out(found);
}

json::object whatif_json(WhatIf const& found) {
    using protocol::to_json;
    json::object per_stage, per_rank;
    for (std::size_t i = 0; i < found.slowdown_of_stage.size(); ++i) {
        per_stage[std::to_string(i)] = found.slowdown_of_stage[i];
    }
    for (std::size_t i = 0; i < found.slowdown_of_dp_rank.size(); ++i) {
        per_rank[std::to_string(i)] = found.slowdown_of_dp_rank[i];
    }
    json::array workers, steps, left;
    for (auto const& each : found.workers) {
        workers.push_back({{"dp_rank", each.dp_rank}, {"stage", each.stage}, {"S", each.slowdown}});
    }
    for (auto const& each : found.steps) {
        steps.push_back({{"step", each.step},
                         {"actual_s", each.actual_s},
                         {"T_nodelay_s", each.no_delay_s},
                         {"S", each.slowdown}});
    }
    for (auto const step : found.steps_left_out) left.push_back(step);
    constexpr std::array kHolders{"none", "worker", "last_stage", "op_type", "spread"};
    return {{"S", found.slowdown},
            {"T_nodelay_s", found.no_delay_s},
            {"T_ideal_s", found.ideal_s},
            {"T_actual_s", found.actual_s},
            {"S_per_op", to_json(found.slowdown_of_type)},
            {"S_per_stage", std::move(per_stage)},
            {"S_per_dp_rank", std::move(per_rank)},
            {"S_per_worker", std::move(workers)},
            {"M_S", to_json(found.of_last_stage.removed)},
            {"M_S_added", to_json(found.of_last_stage.added)},
            {"M_W", to_json(found.of_worst_workers.removed)},
            {"M_W_added", to_json(found.of_worst_workers.added)},
            {"straggler", kHolders[static_cast<std::size_t>(found.holder)]},
            {"held_by", found.held_by},
            {"steps", std::move(steps)},
            {"steps_left_out", std::move(left)},
            {"rows_unreadable", found.rows_unreadable},
            {"ops_ignored", json::value_from(std::map<std::string, int>(found.unknown_ops.begin(),
                                                                        found.unknown_ops.end()))}};
}

}  // namespace osora::cli
