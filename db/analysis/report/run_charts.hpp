// The data of a run's charts, as values: series over steps short enough for a page, with the
// extremes of the long ones. Pure; web/report draws them.
#pragma once

#include "db/analysis/history.hpp"
#include "db/analysis/report/run_report.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

/// A figure over steps; rows are steps as they were measured.
struct StepLine {
    std::string name;  // the bucket, or the name of the line
    std::vector<int> step;
    std::vector<double> mean, min, max;  // over ranks; min and max are empty if not drawn
    double median = kUnknown;            // of the steps that count
    double expected = kUnknown;          // by the plan
    std::size_t steps = 0;               // points measured; more than are drawn if the line is
                                         // reduced

    [[nodiscard]] bool reduced() const { return step.size() < steps; }
};

struct StepSpan {
    int first = 0, last = 0;  // inclusive
};
enum class MarkKind { relaunch, checkpoint, notice };
BOOST_DESCRIBE_ENUM(MarkKind, relaunch, checkpoint, notice)
struct StepMark {
    int step = 0;
    MarkKind kind = MarkKind::notice;
    std::string text;
};

/// Means over groups of neighbouring steps, so that the parts of a group add up.
struct PhaseStack {
    std::vector<std::string> names;           // as PhaseRow::name
    std::vector<int> step;                    // first one of each group
    std::vector<std::vector<double>> mean_s;  // by name, by group
    int steps_per_group = 1;
};

struct RunCharts {
    std::vector<StepLine> step_time;  // one a bucket
    double expected_error = 0;        // error of the plan, as a share; 0 = unknown
    std::vector<StepSpan> warmup;
    std::vector<StepMark> marks;  // ascending
    std::size_t marks_left_out = 0;
    PhaseStack phases;
    std::vector<StepLine> memory;  // bytes of the rank with the most (`max`)
    StepLine loss;                 // `mean`
};

/// Approximate number of points of the step times of all buckets together; other charts have fewer.
constexpr std::size_t kPointsDrawn = 4500;
constexpr std::size_t kPhaseGroups = 200;
constexpr std::size_t kMarksDrawn = 200;

[[nodiscard]] RunCharts run_charts(RunHistory const& history, RunReport const& report);

}  // namespace osora::db::analysis
