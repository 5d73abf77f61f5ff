// Rows with less than a hundredth of the gap and a thousandth of the step are not printed.
#include "cli/report/diff_text.hpp"

#include "base/text/shell_word.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/text/fact_text.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr std::size_t kItemsShown = 40;
constexpr int kKeyColumns = 26;
constexpr int kSideColumns = 19;
constexpr double kRowOfGap = 0.01, kRowOfStep = 0.001;

std::string more(std::string const& body) {
    return filled(printable(body), kLabelColumns, kColumns);
}

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

TimeUnit unit_of(RunComparison const& found) {
    return time_unit({found.a.step_s_median, found.b.step_s_median});
}

std::string side_text(std::string_view label, ComparedSide const& side, TimeUnit const& unit) {
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
    return block(label, text);
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

std::string answer(RunComparison const& found, TimeUnit const& unit) {
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

bool is_shown(WaterfallRow const& row, Waterfall const& whole) {
    bool const of_gap = std::abs(row.gap_s) >= kRowOfGap * std::abs(whole.gap_s);
    return of_gap && std::abs(row.gap_s) >= kRowOfStep * whole.a_s;
}

std::string waterfall_text(Waterfall const& w, TimeUnit const& unit) {
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
    if (table.rows.empty()) return {};
    table.rows.push_back({text_cell("step"), seconds_cell(w.a_s, unit), seconds_cell(w.b_s, unit),
                          text_cell(signed_text(w.b_s - w.a_s, unit)), text_cell(""),
                          text_cell("")});
    std::string text = "\n" + draw_text(table);
    std::vector<std::string> notes{"means of all steps after the warm-up"};
    auto const mix = std::ranges::find(w.rows, "bucket_mix", &WaterfallRow::key);
    if (w.standardised && is_shown(*mix, w)) notes.emplace_back("with A's mix of buckets");
    if (w.work_s != 0) notes.emplace_back("at B's samples of a rank");
    std::string line;
    for (auto const& note : notes) line += (line.empty() ? "" : ", ") + note;
    text += filled(line, 1, kColumns);
    if (!w.attributable()) {
        text += filled(fmt::format("unattributable: {:.1f} % of A's and {:.1f} % of B's step is in "
                                   "no recorded phase",
                                   100 * w.residual_share_a, 100 * w.residual_share_b),
                       1, kColumns);
    }
    return text;
}

std::string efficiency_text(RunComparison const& found) {
    auto const& a = found.a.efficiency;
    auto const& b = found.b.efficiency;
    if (std::isnan(a.parallel) || std::isnan(b.parallel)) return {};
    TextTable table;
    table.columns = {{"efficiency (POP)", "efficiency", false}, {"A", "a"}, {"B", "b"}};
    table.rows = {
        {text_cell("parallel"), percent_cell(a.parallel), percent_cell(b.parallel)},
        {text_cell("  load balance"), percent_cell(a.load_balance), percent_cell(b.load_balance)},
        {text_cell("  communication"), percent_cell(a.communication),
         percent_cell(b.communication)},
        {text_cell("computation, B over A"), text_cell(""), percent_cell(found.computation)}};
    return "\n" + draw_text(table);
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

std::string stragglers_text(RunComparison const& found) {
    std::string text;
    for (auto const& line : {straggler_text("A", found.a), straggler_text("B", found.b)}) {
        if (!line.empty()) text += text.empty() ? block("slow", line) : more(line);
    }
    auto const& rows = found.waterfall.rows;
    auto const wait = std::ranges::find(rows, "slower_rank", &WaterfallRow::key);
    bool const grew = wait != rows.end() && wait->gap_s >= kLeastGap * found.waterfall.a_s;
    if (grew && !found.b.straggler) {
        text += block("slow", "B: no rank is slow all the time: the one that comes last changes");
    }
    return text;
}

std::string value_text(std::string const& value) {
    return value.empty() ? "(none)" : printable(plain_number(value));
}

/// "abcdefgh...": if values differ only after the visible part, cuts their beginnings instead.
std::pair<std::string, std::string> shortened(std::string const& a, std::string const& b) {
    if (display_width(a) <= kSideColumns && display_width(b) <= kSideColumns) return {a, b};
    auto const differ = std::ranges::mismatch(a, b);
    auto const same = static_cast<std::size_t>(differ.in1 - a.begin());
    std::size_t const from = same + 8 > kSideColumns ? same - std::min<std::size_t>(same, 4) : 0;
    auto const cut = [&](std::string const& value) {
        std::string text = from > 0 ? ".." + value.substr(std::min(from, value.size())) : value;
        if (display_width(text) <= kSideColumns) return text;
        return clipped(text, kSideColumns - 2) + "..";
    };
    return {cut(a), cut(b)};
}

std::string differences_text(std::vector<Difference> const& items) {
    if (items.empty()) return "\nnothing that is recorded differs\n";
    std::string text = fmt::format(
        "\n{} (A -> B)\n",
        items.size() == 1 ? "1 item differs" : fmt::format("{} items differ", items.size()));
    TextTable table;
    table.columns = {{"", "kind", false}, {"", "key", false}, {"", "a", false}, {"", "b", false}};
    for (std::size_t i = 0; i < items.size() && i < kItemsShown; ++i) {
        auto const& item = items[i];
        auto const [a, b] = shortened(value_text(item.a), value_text(item.b));
        auto const key = printable(item.key);
        bool const fits = display_width(key) <= kKeyColumns;
        table.rows.push_back({text_cell(item.kind),
                              text_cell(fits ? key : clipped(key, kKeyColumns - 2) + ".."),
                              text_cell(a), text_cell("-> " + b)});
    }
    auto const drawn = draw_text(table);
    text += drawn.substr(drawn.find('\n') + 1);
    if (items.size() > kItemsShown) {
        text += fmt::format(" and {} more: --json\n", items.size() - kItemsShown);
    }
    return text;
}

}  // namespace

std::string diff_text(RunComparison const& found, std::string const& asked_a,
                      std::string const& asked_b) {
    auto const unit = unit_of(found);
    std::string text = side_text("A", found.a, unit) + side_text("B", found.b, unit);
    text += "\n" + filled(answer(found, unit), 0, kColumns);
    bool const slower = found.verdict == SpeedVerdict::slower;
    if (found.waterfall.enough()) {
        text += waterfall_text(found.waterfall, unit) + efficiency_text(found);
        if (auto const slow = stragglers_text(found); !slow.empty()) text += "\n" + slow;
    }
    text += differences_text(found.differences);
    bool const several = found.a.runs.size() > 1 || found.b.runs.size() > 1;
    if (slower && several) {
        text += fmt::format("next: osora bisect {} {}\n", found.a.runs.back().run.number,
                            found.b.runs.back().run.number);
    } else if (slower) {
        text += fmt::format("next: osora bisect {} {}\n", shell_word(printable(asked_a)),
                            shell_word(printable(asked_b)));
    }
    return text;
}

int diff_exit_code(RunComparison const& found) {
    switch (found.verdict) {
        case SpeedVerdict::same:
        case SpeedVerdict::faster:
            return kExitOk;
        case SpeedVerdict::slower:
            return kExitBad;
        case SpeedVerdict::undecided:
        case SpeedVerdict::other_work:
            break;
    }
    return kExitUndecided;
}

}  // namespace osora::cli
