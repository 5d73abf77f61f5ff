#include "cli/report/trend_text.hpp"

#include "base/text/units.hpp"
#include "cli/report/report_render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;
using changepoint::ChangePoint;
using changepoint::SeriesState;

constexpr double kFactorFrom = 1.5;  // changes below this are given in %
constexpr std::size_t kSizesShown = 5;

/// "1.9x slower", "12 % faster"
std::string compared(double before, double after) {
    bool const slower = after >= before;
    double const factor = slower ? after / before : before / after;
    auto const* word = slower ? "slower" : "faster";
    if (factor >= kFactorFrom) return fmt::format("{:.1f}x {}", factor, word);
    return fmt::format("{:.1f} % {}", 100 * std::abs(after / before - 1), word);
}

std::string levels_text(ChangePoint const& point) {
    auto const unit = time_unit({point.before, point.after});
    return fmt::format("{} -> {} {}/step", seconds_cell(point.before, unit).text,
                       seconds_cell(point.after, unit).text, unit.name);
}

struct RunPlace {
    int number = 0;
    std::string date;
};
RunPlace place_of(RunGroup const& group, int index) {
    auto const at = static_cast<std::size_t>(index);
    return {group.numbers[at], date_text(group.submitted_us[at])};
}

/// The index of the run at which a regression ended.
int back_since(Detection const& trend) {
    auto const& points = trend.robust.points;
    bool const by_level = *trend.verdict.point + 1 < points.size();
    return by_level ? points.back().index
                    : static_cast<int>(trend.group.numbers.size()) - changepoint::kBackAgain;
}

std::string of_level(std::string const& name, Detection const& trend) {
    auto const& point = trend.robust.points[*trend.verdict.point];
    auto const [number, date] = place_of(trend.group, point.index);
    std::string const change = fmt::format("{} became {} at run {} on {}", name,
                                           compared(point.before, point.after), number, date);
    if (trend.verdict.value != SeriesState::fixed) {
        return fmt::format("{} and has stayed so: {}.", change, levels_text(point));
    }
    auto const back = place_of(trend.group, back_since(trend));
    return fmt::format("{} ({}) and is back since run {} on {}.", change, levels_text(point),
                       back.number, back.date);
}

std::string of_newest(std::string const& name, Detection const& trend) {
    auto const& numbers = trend.group.numbers;
    auto const& newest = trend.newest;
    std::string const by = compared(newest.level, trend.group.step_s.back());
    if (regression_of(trend) == Regression::suspected) {
        return fmt::format(
            "{}: run {} was {} than the {} runs before it; one slow run may be chance.", name,
            numbers.back(), by, newest.history);
    }
    if (trend.repeat > 0) {
        return fmt::format(
            "{}: run {} was {} than the {} runs before it, and so was its repeat, "
            "run {}.",
            name, numbers.back(), by, newest.history, trend.repeat);
    }
    return fmt::format("{}: runs {} and {} were slow, the newest {} than the {} runs before.", name,
                       numbers.end()[-2], numbers.back(), by, newest.history);
}

/// "128 ranks" if that distinguishes the sizes.
std::string short_size(SeriesReport const& report, Detection const& trend) {
    auto const& size = trend.group.size;
    auto const same = std::ranges::count_if(report.trends, [&](Detection const& other) {
        return other.group.size.ranks == size.ranks;
    });
    if (same > 1) return describe(size);
    return fmt::format("{} rank{}", format_count(size.ranks), size.ranks == 1 ? "" : "s");
}

}  // namespace

std::string date_text(std::optional<std::int64_t> wall_us) {
    return wall_us ? utc_text(wall_us).substr(0, 10) : "-";
}

std::string change_text(double effect) {
    return std::isfinite(effect) ? fmt::format("{:+.1f} %", 100 * effect) : "-";
}

std::string trend_sentence(std::string const& name, Detection const& trend) {
    auto const state = trend.verdict.value;
    bool const is_of_level = trend.verdict.point.has_value();
    bool const slow_now = regression_of(trend) != Regression::none;
    if (slow_now && state != SeriesState::regressed) return of_newest(name, trend);
    if (is_of_level) return of_level(name, trend);
    auto const count = trend.group.numbers.size();
    if (state == SeriesState::undecided) {
        return fmt::format("{}: {} run{} too few to tell a change; {} are needed.", name, count,
                           count == 1 ? " is" : "s are", changepoint::values_needed({}));
    }
    return fmt::format("{}: no change in {} runs; spread {:.1f} %.", name, count,
                       100 * trend.robust.noise);
}

std::vector<std::string> trend_sentences(SeriesReport const& report) {
    std::vector<std::string> changed, rest;
    for (auto const& trend : report.trends) {
        auto const name = report.trends.size() > 1
                              ? fmt::format("{} on {}", report.name, short_size(report, trend))
                              : report.name;
        bool const has_changed =
            trend.verdict.point.has_value() || regression_of(trend) != Regression::none;
        (has_changed ? changed : rest).push_back(trend_sentence(name, trend));
    }
    if (changed.empty() && !rest.empty()) changed.push_back(rest.front());
    changed.resize(std::min(changed.size(), kSizesShown));
    return changed;
}

std::vector<std::string> trend_commands(SeriesReport const& report) {
    std::vector<std::string> commands;
    for (auto const& trend : report.trends) {
        auto const pair = runs_to_compare(trend);
        if (pair.bad == 0 || commands.size() == kSizesShown) continue;
        commands.push_back(
            regression_of(trend) == Regression::suspected
                ? fmt::format("osora submit --from {}: two slow runs of two confirm it", pair.bad)
                : fmt::format("osora bisect {} {}", pair.good, pair.bad));
    }
    return commands;
}

TextTable change_table(SeriesReport const& report) {
    std::vector<double> seconds;
    for (auto const& trend : report.trends) {
        for (auto const& point : trend.robust.points) {
            seconds.insert(seconds.end(), {point.before, point.after});
        }
    }
    auto const unit = time_unit(seconds);
    TextTable table;
    table.columns = {{"from run", "run"},  {"on", "submitted", false},
                     {"ranks", "ranks"},   {unit.name + "/step before", "before_s"},
                     {"after", "after_s"}, {"change", "effect"}};
    for (auto const& trend : report.trends) {
        for (auto const& point : trend.robust.points) {
            auto const [number, date] = place_of(trend.group, point.index);
            table.rows.push_back({count_cell(number),
                                  text_cell(date),
                                  count_cell(trend.group.size.ranks),
                                  seconds_cell(point.before, unit),
                                  seconds_cell(point.after, unit),
                                  {change_text(point.effect()), raw_number(point.effect())}});
        }
    }
    std::ranges::stable_sort(table.rows, {},
                             [](auto const& row) { return std::stoi(row.front().raw); });
    return table;
}

}  // namespace osora::cli
