// Private to osora detect: its results as text for 80 columns and as JSON. Pure.
#pragma once

#include "db/analysis/detection.hpp"
#include "db/analysis/node_drift.hpp"
#include "protocol/json.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// The result for the values of a CSV file.
struct CsvDetection {
    std::string method;  // "robust", "otava", "mozilla": the detector that found the points
    db::analysis::changepoint::Direction direction{};
    std::vector<double> values;
    db::analysis::changepoint::Segmentation answer;
    db::analysis::changepoint::SeriesVerdict verdict;
    db::analysis::changepoint::GateDecision newest;
    std::vector<int> otava, mozilla;  // what the reference detectors find, for comparison
};
/// Of the newest value. Only levels decide for a file, whose values are not runs and their repeats:
/// two slow values in a row are suspect, and confirmed only where the level is slow.
[[nodiscard]] db::analysis::changepoint::GateState newest_state(CsvDetection const& detection);
[[nodiscard]] std::string detect_text(CsvDetection const& detection);
[[nodiscard]] protocol::json::object detect_json(CsvDetection const& detection);

/// The groups of one series that have enough runs, newest first, and those that do not.
struct SeriesDetection {
    std::string name;
    std::vector<db::analysis::Detection> groups;
    std::vector<db::analysis::RunGroup> too_few;
    std::vector<int> unfinished = {};  // runs that are in no group, because no end is recorded
};
[[nodiscard]] std::string detect_text(SeriesDetection const& series);
/// All series: one line per group of runs.
[[nodiscard]] std::string detect_text(std::vector<SeriesDetection> const& all);
[[nodiscard]] protocol::json::object detect_json(std::vector<SeriesDetection> const& all);

/// bad when any group is bad; else undecided when any is, or when there is no group.
[[nodiscard]] db::analysis::Finding finding_of(std::vector<SeriesDetection> const& all);

/// Nodes over the probes of a history.
[[nodiscard]] std::string detect_text(db::analysis::NodeDriftReport const& report);
[[nodiscard]] protocol::json::object detect_json(db::analysis::NodeDriftReport const& report);
[[nodiscard]] db::analysis::Finding finding_of(db::analysis::NodeDriftReport const& report);

/// What was analysed: series, nodes, or both.
struct HistoryDetection {
    bool nodes_only = false;
    std::vector<SeriesDetection> series;
    std::optional<db::analysis::NodeDriftReport> nodes;
};
/// With both: nodes are included when there were probes.
[[nodiscard]] std::string detect_text(HistoryDetection const& history);
[[nodiscard]] protocol::json::object detect_json(HistoryDetection const& history);
/// bad when either is. Nodes without enough probes do not make the result undecided.
[[nodiscard]] db::analysis::Finding finding_of(HistoryDetection const& history);

}  // namespace osora::cli
