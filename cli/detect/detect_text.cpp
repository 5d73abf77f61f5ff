// The answer first, then the levels, then the reasons, then the next command.
#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "cli/detect/detect_levels.hpp"
#include "cli/detect/detect_render.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis::changepoint;
using db::analysis::Detection;
using db::analysis::Finding;
using db::analysis::Regression;
using db::analysis::RunGroup;

constexpr int kSeriesNameColumns = 20;

LevelWords run_words(RunGroup const& group) {
    auto const unit = time_unit(group.step_s);
    return {.places = "runs",
            .level = unit.name + "/step",
            .place =
                [&group](int i) {
                    return fmt::format("{}", group.numbers[static_cast<std::size_t>(i)]);
                },
            .unit = unit,
            .unit_name = " " + unit.name + "/step"};
}

std::string next_text(Detection const& detection) {
    auto const pair = runs_to_compare(detection);
    if (pair.bad == 0) return {};
    if (regression_of(detection) == Regression::suspected) {
        return fmt::format("osora submit --from {}: two of two confirm it", pair.bad);
    }
    return fmt::format("osora bisect {} {}", pair.good, pair.bad);
}

/// A slow level is reported by itself; else the newest run is, when it is slow.
std::string group_headline(Detection const& detection, LevelWords const& words) {
    auto const& group = detection.group;
    auto const regression = regression_of(detection);
    if (regression == Regression::none || detection.verdict.value == SeriesState::regressed) {
        return headline(detection.robust, detection.verdict, words);
    }
    return fmt::format("regression {}: run {} took {}{}, {}",
                       boost::describe::enum_to_string(regression, ""), group.numbers.back(),
                       seconds_cell(group.step_s.back(), words.unit).text, words.unit_name,
                       detection.newest.reason);
}

std::string metric_text(db::analysis::MetricTrend const& trend, RunGroup const& group) {
    bool const share = trend.kind == db::analysis::MetricKind::share_of_step;
    auto const figure = [&](double value) {
        return share ? fmt::format("{:.0f} %", 100 * value)
                     : format_bytes(static_cast<std::int64_t>(value));
    };
    return fmt::format("{}: {} -> {}{} from run {} on", trend.name, figure(trend.before),
                       figure(trend.after), share ? " of the step" : "",
                       group.numbers[static_cast<std::size_t>(trend.index)]);
}

std::string group_text(std::string const& name, Detection const& detection) {
    auto const& [group, robust, verdict, newest, metrics, repeat] = detection;
    LevelWords const words = run_words(group);
    std::string text = filled(printable(group_headline(detection, words)), 0, kDetectColumns);
    text += filled(printable(fmt::format("series {} · {} · {} runs", name, describe(group.size),
                                         group.numbers.size())),
                   0, kDetectColumns);
    text += levels_text(group.step_s, robust, words);
    text += labelled("newest",
                     fmt::format("run {}: {}, {}", group.numbers.back(),
                                 boost::describe::enum_to_string(newest.value, ""), newest.reason));
    for (auto const& trend : metrics.worse) text += labelled("also", metric_text(trend, group));
    if (auto const next = next_text(detection); !next.empty()) text += labelled("next", next);
    return text;
}

bool is_news(GateDecision const& newest) {
    return newest.value == GateState::suspect || newest.value == GateState::confirmed;
}

/// The most important fact, in 32 columns.
std::string state_text(Detection const& detection) {
    auto const& [group, robust, verdict, newest, metrics, repeat] = detection;
    std::string const state = boost::describe::enum_to_string(verdict.value, "");
    if (is_news(newest) && verdict.value != SeriesState::regressed) {
        return fmt::format("{} at run {}, {}",
                           boost::describe::enum_to_string(regression_of(detection), ""),
                           group.numbers.back(), signed_percent(newest.effect));
    }
    if (!verdict.point) return state;
    auto const& point = robust.points[*verdict.point];
    return fmt::format("{} {} at run {}", state, signed_percent(point.effect()),
                       group.numbers[static_cast<std::size_t>(point.index)]);
}

}  // namespace

GateState newest_state(CsvDetection const& detection) {
    bool const confirmed = detection.newest.value == GateState::confirmed;
    bool const regressed = detection.verdict.value == SeriesState::regressed;
    return confirmed && !regressed ? GateState::suspect : detection.newest.value;
}

std::string detect_text(CsvDetection const& detection) {
    auto const& [method, direction, values, answer, verdict, newest, otava, mozilla] = detection;
    LevelWords const words{.places = "index",
                           .level = "level",
                           .place = [](int i) { return fmt::format("{}", i); },
                           .unit = {},
                           .unit_name = ""};
    std::string text = filled(headline(answer, verdict, words), 0, kDetectColumns);
    if (verdict.value == SeriesState::undecided) return text;
    text += levels_text(values, answer, words);
    if (is_news(newest)) {
        bool const regressed = verdict.value == SeriesState::regressed;
        text += labelled(
            "newest",
            fmt::format("{}: {}{}", boost::describe::enum_to_string(newest_state(detection), ""),
                        newest.reason, regressed ? "" : "; only a level of 3 values decides"));
    }
    auto const indices = [](std::vector<int> const& found) {
        return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
    };
    if (method == "robust") {
        text += labelled("others", fmt::format("Otava's detector: {}; Mozilla's: {}",
                                               indices(otava), indices(mozilla)));
    } else {
        text += labelled("found by", fmt::format("{}; the robust detector is the default", method));
    }
    return text;
}

std::string detect_text(SeriesDetection const& series) {
    std::string text;
    for (auto const& each : series.groups) {
        text += (text.empty() ? "" : "\n") + group_text(series.name, each);
    }
    if (series.groups.empty()) {
        text = filled(printable(fmt::format("undecided: series {} has no {} runs that can be "
                                            "compared",
                                            series.name, values_needed({}))),
                      0, kDetectColumns);
    }
    for (auto const& group : series.too_few) {
        text += labelled("left out",
                         fmt::format("{} run{} on {}", group.numbers.size(),
                                     group.numbers.size() == 1 ? "" : "s", describe(group.size)));
    }
    if (!series.unfinished.empty()) {
        text += labelled("left out", fmt::format("{} {}: no end is recorded",
                                                 series.unfinished.size() == 1 ? "run" : "runs",
                                                 fmt::join(series.unfinished, ", ")));
    }
    return text;
}

namespace {

/// What is in no row of the table of all series; with a line before it, or "".
std::string series_left_out(std::vector<SeriesDetection> const& all, bool has_rows) {
    std::size_t too_few = 0, unfinished = 0;
    for (auto const& series : all) {
        too_few += series.groups.empty();
        unfinished += series.unfinished.size();
    }
    std::string text;
    if (too_few > 0 && has_rows) {
        text += labelled("left out", fmt::format("{} series with fewer than {} runs alike", too_few,
                                                 values_needed({})));
    }
    if (unfinished > 0) {
        text += labelled("left out", fmt::format("{} run{} without a recorded end", unfinished,
                                                 unfinished == 1 ? "" : "s"));
    }
    return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string detect_text(std::vector<SeriesDetection> const& all) {
    TextTable table;
    table.columns = {{"series", "series", false},
                     {"ranks", "ranks"},
                     {"runs", "runs"},
                     {"step", "step_s"},
                     {"state", "state", false}};
    int bad = 0;
    std::string next;
    for (auto const& series : all) {
        for (auto const& each : series.groups) {
            bad += finding_of(each) == Finding::bad;
            if (next.empty() && finding_of(each) != Finding::good) {
                next = "osora detect " + series.name;
            }
            auto const& points = each.robust.points;
            double const level = points.empty() ? median(each.group.step_s) : points.back().after;
            table.rows.push_back({text_cell(clipped(printable(series.name), kSeriesNameColumns)),
                                  count_cell(each.group.size.ranks),
                                  count_cell(static_cast<int>(each.group.numbers.size())),
                                  text_cell(format_seconds(level)), text_cell(state_text(each))});
        }
    }
    std::string text;
    if (table.rows.empty()) {
        text = fmt::format("undecided: no series has {} runs that can be compared\n",
                           values_needed({}));
    } else {
        text = bad == 0 ? "no regression in" : fmt::format("regression in {} of", bad);
        text += fmt::format(" {} series and sizes\n\n", table.rows.size()) + draw_text(table);
    }
    auto const left_out = series_left_out(all, !table.rows.empty());
    text += left_out;
    if (!next.empty()) text += (left_out.empty() ? "\n" : "") + labelled("next", next);
    return text;
}

std::string detect_text(HistoryDetection const& history) {
    if (!history.nodes) return detect_text(history.series);
    if (history.nodes_only) return detect_text(*history.nodes);
    bool const probed = history.nodes->probes + history.nodes->probes_small > 0;
    std::string const text = detect_text(history.series);
    return probed ? text + "\n" + detect_text(*history.nodes) : text;
}

Finding finding_of(HistoryDetection const& history) {
    if (history.nodes && !history.nodes->drifted.empty()) return Finding::bad;
    bool const series_found = std::ranges::any_of(
        history.series, [](SeriesDetection const& each) { return !each.groups.empty(); });
    return history.nodes && (history.nodes_only || !series_found) ? finding_of(*history.nodes)
                                                                  : finding_of(history.series);
}

Finding finding_of(std::vector<SeriesDetection> const& all) {
    bool any = false, undecided = false;
    for (auto const& series : all) {
        for (auto const& each : series.groups) {
            any = true;
            auto const finding = finding_of(each);
            if (finding == Finding::bad) return Finding::bad;
            undecided = undecided || finding == Finding::undecided;
        }
    }
    return any && !undecided ? Finding::good : Finding::undecided;
}

}  // namespace osora::cli
