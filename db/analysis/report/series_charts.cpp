#include "db/analysis/report/series_charts.hpp"

#include "base/robust.hpp"

#include <algorithm>

namespace osora::db::analysis {
namespace {

/// A run of a trend, by its index: imported runs may have the same number.
struct Member {
    std::size_t trend = 0, index = 0;
};

std::vector<Member> oldest_first(std::vector<Detection> const& trends) {
    std::vector<Member> members;
    for (std::size_t trend = 0; trend < trends.size(); ++trend) {
        for (std::size_t i = 0; i < trends[trend].group.numbers.size(); ++i) {
            members.push_back({trend, i});
        }
    }
    std::ranges::stable_sort(members, {}, [&](Member const& member) {
        return trends[member.trend].group.numbers[member.index];
    });
    return members;
}

RunPoint point_of(RunGroup const& group, std::size_t index) {
    return {.number = group.numbers[index],
            .ranks = group.size.ranks,
            .nodes = group.size.nodes,
            .submitted_us = group.submitted_us[index],
            .step_s = group.step_s[index],
            .mad = group.mad_s[index]};
}

/// `places`: positions of the trend's runs in the chart.
void add_levels(Detection const& trend, std::vector<int> const& places, SeriesCharts& charts) {
    auto const& values = trend.group.step_s;
    auto const place = [&](int index) { return places[static_cast<std::size_t>(index)]; };
    std::vector<int> cuts;
    for (auto const& point : trend.robust.points) {
        cuts.push_back(point.index);
        charts.changes.push_back({place(point.index), point.before, point.after});
    }
    for (auto const& part : changepoint::segments_between(cuts, static_cast<int>(values.size()))) {
        charts.levels.push_back(
            {place(part.start), place(part.stop - 1),
             median({values.begin() + part.start, values.begin() + part.stop})});
    }
}

}  // namespace

SeriesCharts series_charts(SeriesReport const& report) {
    SeriesCharts charts;
    std::vector<std::vector<int>> places(report.trends.size());
    for (auto const& [trend, index] : oldest_first(report.trends)) {
        places[trend].push_back(static_cast<int>(charts.runs.size()));
        charts.runs.push_back(point_of(report.trends[trend].group, index));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        // With fewer runs there are no levels.
        if (report.trends[i].verdict.value == changepoint::SeriesState::undecided) continue;
        add_levels(report.trends[i], places[i], charts);
    }
    std::ranges::stable_sort(charts.changes, {}, &RunChange::at);
    return charts;
}

}  // namespace osora::db::analysis
