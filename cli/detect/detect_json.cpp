// Names are part of the contract with scripts: add names, do not change them.
#include "cli/detect/detect_render.hpp"

#include <algorithm>
#include <cstdlib>

namespace osora::cli {
namespace {

using namespace db::analysis::changepoint;
using db::analysis::Detection;
using db::analysis::Finding;
namespace json = protocol::json;
using protocol::to_json;

constexpr int kNear = 2;  // in values: within this distance two detectors report the same change

json::object point_object(ChangePoint const& point) {
    return {{"index", point.index},
            {"before", to_json(point.before)},
            {"after", to_json(point.after)},
            {"p", to_json(point.p)},
            {"interval", json::array{point.lo, point.hi}},
            {"effect", to_json(point.effect())}};
}

json::value modes_value(std::optional<Bimodality> const& modes) {
    if (!modes) return nullptr;
    return json::object{
        {"low", modes->low}, {"high", modes->high}, {"high_share", modes->high_share}};
}

bool has_near(std::vector<int> const& indices, int index) {
    return std::ranges::any_of(indices, [&](int each) { return std::abs(each - index) <= kNear; });
}

json::object newest_object(GateDecision const& newest) {
    return {{"state", to_json(newest.value)},
            {"reason", newest.reason},
            {"level", to_json(newest.level)},
            {"effect", to_json(newest.effect)},
            {"z", to_json(newest.z)}};
}

json::array small_array(Segmentation const& robust) {
    json::array points;
    for (auto const& point : robust.small) points.push_back(point_object(point));
    return points;
}

json::object group_object(std::string const& name, Detection const& detection) {
    auto const& [group, robust, verdict, newest, metrics, repeat] = detection;
    auto const run_at = [&](int index) { return group.numbers[static_cast<std::size_t>(index)]; };
    json::array points;
    for (auto const& point : robust.points) {
        auto object = point_object(point);
        object["run"] = run_at(point.index);
        object["interval_runs"] = json::array{run_at(point.lo), run_at(point.hi)};
        points.push_back(std::move(object));
    }
    json::array also;
    for (auto const& trend : metrics.worse) {
        also.push_back(json::object{{"metric", trend.name},
                                    {"unit", to_json(trend.kind)},
                                    {"run", run_at(trend.index)},
                                    {"before", to_json(trend.before)},
                                    {"after", to_json(trend.after)},
                                    {"p", to_json(trend.p)},
                                    {"adjusted_p", to_json(trend.adjusted_p)}});
    }
    auto const pair = runs_to_compare(detection);
    return {{"series", name},
            {"ranks", group.size.ranks},
            {"nodes", group.size.nodes},
            {"threads_per_rank", group.size.threads_per_rank},
            {"global_batch_size", to_json(group.size.global_batch)},
            {"gpu", group.size.gpu},
            {"runs", to_json(group.numbers)},
            {"step_s", to_json(group.step_s)},
            {"finding", to_json(finding_of(detection))},
            {"regression", to_json(regression_of(detection))},
            {"state", to_json(verdict.value)},
            {"reason", verdict.reason},
            {"change_points", std::move(points)},
            {"below_min_effect", small_array(robust)},
            {"newest", newest_object(newest)},
            {"repeat", repeat == 0 ? json::value() : json::value(repeat)},
            {"also_worse", std::move(also)},
            {"noise", to_json(robust.noise)},
            {"correlation", to_json(robust.correlation)},
            {"bimodal", modes_value(robust.modes)},
            {"compare",
             pair.bad == 0 ? json::value() : json::value{{"good", pair.good}, {"bad", pair.bad}}}};
}

}  // namespace

json::object detect_json(CsvDetection const& detection) {
    auto const& answer = detection.answer;
    json::array points;
    for (auto const& point : answer.points) {
        auto object = point_object(point);
        object["votes"] = json::object{{"otava", has_near(detection.otava, point.index)},
                                       {"mozilla", has_near(detection.mozilla, point.index)}};
        points.push_back(std::move(object));
    }
    GateDecision newest = detection.newest;
    newest.value = newest_state(detection);
    return {{"change_points", std::move(points)},
            {"below_min_effect", small_array(answer)},
            {"newest", newest_object(newest)},
            {"detector", detection.method},
            {"count", detection.values.size()},
            {"state", to_json(detection.verdict.value)},
            {"reason", detection.verdict.reason},
            {"noise", to_json(answer.noise)},
            {"correlation", to_json(answer.correlation)},
            {"bimodal", modes_value(answer.modes)}};
}

json::object detect_json(std::vector<SeriesDetection> const& all) {
    json::array groups, unfinished;
    for (auto const& series : all) {
        for (auto const& each : series.groups) groups.push_back(group_object(series.name, each));
        for (int const run : series.unfinished) {
            unfinished.push_back(json::object{{"series", series.name}, {"run", run}});
        }
    }
    return {{"finding", to_json(finding_of(all))},
            {"series", std::move(groups)},
            {"unfinished", std::move(unfinished)}};
}

json::object detect_json(HistoryDetection const& history) {
    auto object = detect_json(history.series);
    if (history.nodes) object["nodes"] = detect_json(*history.nodes);
    object["finding"] = to_json(finding_of(history));
    return object;
}

}  // namespace osora::cli
