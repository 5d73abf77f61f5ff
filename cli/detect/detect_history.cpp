#include "cli/detect/detect_history.hpp"

#include "db/analysis/confirmation.hpp"
#include "db/derived/node_scores.hpp"
#include "db/store/queries.hpp"

namespace osora::cli {

using namespace db::analysis;

Result<void> use_repeat(db::Store& store, std::string const& name,
                        std::vector<SeriesRun> const& runs, DetectionOptions const& options,
                        Detection& detection) {
    if (regression_of(detection) != Regression::suspected) return {};
    auto repeats = db::load_series(store, repeat_series(name, detection.group.numbers.back()));
    if (repeats.has_error()) {
        if (repeats.error().code == Errc::not_found) return {};
        return repeats.error();
    }
    (void)take_unfinished(*repeats);
    if (auto const repeat = judge_repeat(detection, runs, *repeats, options.gate)) {
        apply_repeat(detection, *repeat);
    }
    return {};
}

namespace {

Result<SeriesDetection> detect_series(db::Store& store, std::string const& name,
                                      DetectionOptions const& options) {
    OSORA_TRY(auto runs, db::load_series(store, name));
    SeriesDetection series{.name = name, .groups = {}, .too_few = {}};
    series.unfinished = take_unfinished(runs);
    for (auto& group : run_groups(runs)) {
        if (static_cast<int>(group.numbers.size()) < values_needed(options.robust)) {
            series.too_few.push_back(std::move(group));
            continue;
        }
        auto detection = detect(std::move(group), options);
        OSORA_TRY_VOID(use_repeat(store, name, runs, options, detection));
        series.groups.push_back(std::move(detection));
    }
    return series;
}

/// Of all metrics of all series that are analysed together.
void adjust_metrics(std::vector<SeriesDetection>& all) {
    std::vector<MetricTrends*> trends;
    for (auto& series : all) {
        for (auto& each : series.groups) trends.push_back(&each.metrics);
    }
    adjust(trends);
}

}  // namespace

Result<HistoryDetection> detect_history(db::Store& store, DetectWhat what,
                                        std::optional<std::string> const& series,
                                        DetectionOptions const& options,
                                        NodeDriftOptions const& node_options) {
    HistoryDetection detection{.nodes_only = what == DetectWhat::nodes, .series = {}, .nodes = {}};
    if (what != DetectWhat::nodes) {
        std::vector<std::string> names;
        if (series) {
            names.push_back(*series);
        } else {
            OSORA_TRY(names, db::series_names(store));
            std::erase_if(names, [](auto const& name) { return is_repeat_series(name); });
        }
        for (auto const& name : names) {
            OSORA_TRY(auto found, detect_series(store, name, options));
            detection.series.push_back(std::move(found));
        }
        adjust_metrics(detection.series);
    }
    if (what != DetectWhat::series) {
        OSORA_TRY(auto scores, db::load_node_scores(store));
        detection.nodes = node_drift(std::move(scores), node_options);
    }
    return detection;
}

}  // namespace osora::cli
