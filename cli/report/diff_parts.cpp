#include "cli/report/diff_parts.hpp"

#include "base/text/shell_word.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr double kRowOfGap = 0.01, kRowOfStep = 0.001;

/// "+212", "-0.30": three digits in the unit.
std::string signed_text(double seconds, TimeUnit const& unit) {
    if (std::isnan(seconds)) return "-";
    std::string const digits = three_digits(std::abs(seconds * unit.per_second));
    bool const zero = digits.find_first_not_of("0.,") == digits.npos;
    return (zero ? "" : seconds < 0 ? "-" : "+") + digits;
}

std::string interval_text(Interval const& interval, TimeUnit const& unit) {
    return signed_text(interval.low, unit) + " to " + signed_text(interval.high, unit);
}

std::string word_of(IntervalKind kind) {
    return kind == IntervalKind::over_runs ? "over runs" : "within-run only";
}

std::string gap_text(RunComparison const& found, TimeUnit const& unit) {
    auto const& w = found.waterfall;
    return fmt::format("{} {} a step, {:+.1f} %; 95 %: {}, {}", signed_text(w.gap_s, unit),
                       unit.name, 100 * w.gap_s / (w.a_s + w.work_s),
                       interval_text(w.interval, unit), word_of(w.intervals));
}

bool is_shown(WaterfallRow const& row, Waterfall const& whole) {
    bool const of_gap = std::abs(row.gap_s) >= kRowOfGap * std::abs(whole.gap_s);
    return of_gap && std::abs(row.gap_s) >= kRowOfStep * whole.a_s;
}

std::string straggler_text(std::string_view side, ComparedSide const& compared) {
    if (!compared.straggler) return {};
    auto const& s = *compared.straggler;
    std::string text = fmt::format("{}: rank {} comes last in {} of {} steps, {} after the others",
                                   side, s.rank, s.steps, s.of_steps, format_seconds(s.late_s));
    if (compared.slowest_rank && compared.slowest_rank->excess > 0) {
        text += fmt::format("; its own work takes {:.0f} % longer",
                            100 * compared.slowest_rank->excess);
    }
    return text;
}

}  // namespace

TimeUnit diff_unit(RunComparison const& found) {
    return time_unit({found.a.step_s_median, found.b.step_s_median});
}

std::string diff_side(ComparedSide const& side, TimeUnit const& unit) {
    auto const& run = side.runs.back().run;
    std::string text;
    if (side.runs.size() == 1) {
        text = fmt::format("run {} · {}", run.number, clipped(run.name, 30));
    } else {
        text = "runs";
        for (auto const& each : side.runs) text += fmt::format(" {}", each.run.number);
    }
    text += fmt::format(" · {} on {}", counted(run.ranks, "rank"), counted(run.nodes, "node"));
    if (std::isnan(side.step_s_median)) {
        text += " · no step was measured";
    } else {
        text += fmt::format(" · {} {}/step",
                            spread_cell(side.step_s_median, side.step_s_mad, unit).text, unit.name);
    }
    return text;
}

std::string diff_answer(RunComparison const& found, TimeUnit const& unit) {
    auto const& w = found.waterfall;
    switch (found.verdict) {
        case SpeedVerdict::slower:
            return "B is slower: " + gap_text(found, unit);
        case SpeedVerdict::faster:
            return "B is faster: " + gap_text(found, unit);
        case SpeedVerdict::same:
            return fmt::format("same speed: {} (less than {:.0f} %, or noise)",
                               gap_text(found, unit), 100 * kLeastGap);
        case SpeedVerdict::other_work:
            return "seconds cannot be compared, the work differs: " + found.other_work;
        case SpeedVerdict::undecided:
            break;
    }
    return fmt::format("undecided: {} and {} steps count, {} are needed on both sides", w.steps_a,
                       w.steps_b, kStepsMin);
}

TextTable waterfall_table(Waterfall const& w, TimeUnit const& unit) {
    TextTable table;
    table.columns = {{"where", "where", false}, {"A " + unit.name, "a_s"},
                     {"B " + unit.name, "b_s"}, {"gap", "gap_s"},
                     {"of gap", "of_gap"},      {"95 %", "interval"}};
    for (auto const& row : w.rows) {
        if (!is_shown(row, w)) continue;
        table.rows.push_back({text_cell(row.name), seconds_cell(row.a_s, unit),
                              seconds_cell(row.b_s, unit), text_cell(signed_text(row.gap_s, unit)),
                              percent_cell(row.of_gap),
                              text_cell(interval_text(row.interval, unit))});
    }
    if (table.rows.empty()) return table;
    table.rows.push_back({text_cell("step"), seconds_cell(w.a_s, unit), seconds_cell(w.b_s, unit),
                          text_cell(signed_text(w.b_s - w.a_s, unit)), text_cell(""),
                          text_cell("")});
    return table;
}

std::vector<std::string> waterfall_notes(Waterfall const& w) {
    std::string means = "means of all steps after the warm-up";
    auto const mix = std::ranges::find(w.rows, "bucket_mix", &WaterfallRow::key);
    if (w.standardised && is_shown(*mix, w)) means += ", with A's mix of buckets";
    if (w.work_s != 0) means += ", at B's samples of a rank";
    std::vector<std::string> notes{means};
    if (!w.attributable()) {
        notes.push_back(
            fmt::format("unattributable: {:.1f} % of A's and {:.1f} % of B's step is in no "
                        "recorded phase",
                        100 * w.residual_share_a, 100 * w.residual_share_b));
    }
    return notes;
}

TextTable efficiency_table(RunComparison const& found) {
    auto const& a = found.a.efficiency;
    auto const& b = found.b.efficiency;
    TextTable table;
    table.columns = {{"efficiency (POP)", "efficiency", false}, {"A", "a"}, {"B", "b"}};
    if (std::isnan(a.parallel) || std::isnan(b.parallel)) return table;
    table.rows = {
        {text_cell("parallel"), percent_cell(a.parallel), percent_cell(b.parallel)},
        {text_cell("  load balance"), percent_cell(a.load_balance), percent_cell(b.load_balance)},
        {text_cell("  communication"), percent_cell(a.communication),
         percent_cell(b.communication)},
        {text_cell("computation, B over A"), text_cell(""), percent_cell(found.computation)}};
    return table;
}

std::vector<std::string> diff_stragglers(RunComparison const& found) {
    std::vector<std::string> lines;
    for (auto const& line : {straggler_text("A", found.a), straggler_text("B", found.b)}) {
        if (!line.empty()) lines.push_back(line);
    }
    auto const& rows = found.waterfall.rows;
    auto const wait = std::ranges::find(rows, "slower_rank", &WaterfallRow::key);
    bool const grew = wait != rows.end() && wait->gap_s >= kLeastGap * found.waterfall.a_s;
    if (grew && !found.b.straggler) {
        lines.emplace_back("B: no rank is slow all the time: the one that comes last changes");
    }
    return lines;
}

std::string diff_next(RunComparison const& found, std::string const& asked_a,
                      std::string const& asked_b) {
    if (found.verdict != SpeedVerdict::slower) return {};
    bool const several = found.a.runs.size() > 1 || found.b.runs.size() > 1;
    if (several) {
        return fmt::format("osora bisect {} {}", found.a.runs.back().run.number,
                           found.b.runs.back().run.number);
    }
    return fmt::format("osora bisect {} {}", shell_word(printable(asked_a)),
                       shell_word(printable(asked_b)));
}

}  // namespace osora::cli
