// The result of `osora detect` for a series of runs, as a value: comparable runs in groups, and for
// each group its levels, its state, and the decision about its newest run. Pure.
#pragma once

#include "db/analysis/changepoint/gate.hpp"
#include "db/analysis/changepoint/series_verdict.hpp"
#include "db/analysis/history.hpp"
#include "db/analysis/metric_trends.hpp"
#include "db/analysis/run_size.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct DetectionOptions {
    changepoint::SegmentationOptions robust = {};
    changepoint::GateOptions gate = {};
    bool metrics = false;  // also check other figures that became worse
};

/// Number of steps by bucket.
using Mix = std::map<std::string, double>;

/// By how much the run's step takes longer than its buckets' medians say: 1, unless the batch of a
/// bucket changed during the run. Then the median is that of one of its batches.
[[nodiscard]] double batch_factor(Measured const& run);

/// Seconds per step: medians of the buckets, weighted by `mix`; by the run's own mix if it lacks a
/// bucket. If a bucket's batch changed during the run, each batch counts with its own median.
[[nodiscard]] double step_s_of(Measured const& run, Mix const& mix);

/// Runs of the same work and size, oldest first.
struct RunGroup {
    RunSize size;
    Facts work;
    Mix mix;  // of all runs
    std::vector<int> numbers;
    std::vector<std::string> names;
    std::vector<std::int64_t> run_ids;
    std::vector<std::optional<std::int64_t>> submitted_us;
    /// Seconds per step, one value per run: medians of the buckets, weighted by the steps that all
    /// runs of the group took in each, so that a run's own mix has no effect.
    std::vector<double> step_s;
    std::vector<double> mad_s;  // per step, by bucket as step_s
    std::vector<MetricSeries> metrics;
};

/// Whether a run of this machine has enough steps: imported runs are then no part of the series,
/// because they are of another machine, and their numbers say nothing about when they ran.
[[nodiscard]] bool shadows_imports(std::vector<SeriesRun> const& runs);

/// Takes the runs without a recorded end out of `runs` and returns their numbers, oldest first: the
/// steps that they still lack may change their figures, and a lost controller recorded no end.
[[nodiscard]] std::vector<int> take_unfinished(std::vector<SeriesRun>& runs);

/// Runs with enough steps, without those that shadows_imports() hides; the group of the newest run
/// comes first.
[[nodiscard]] std::vector<RunGroup> run_groups(std::vector<SeriesRun> const& runs);

/// The run that the one at `index` is compared with, wherever osora names one: of the last five
/// earlier runs that were faster by `min_effect` or more, the newest that was about as fast as they
/// usually were. A single fast run, and slow runs beside the change, are skipped; none: there is no
/// faster one.
[[nodiscard]] std::optional<std::size_t> good_run_before(RunGroup const& group, std::size_t index,
                                                         double min_effect = 0.03);
/// The number of that run, for the run with this number; 0: none.
[[nodiscard]] int good_run_of(RunGroup const& group, int number);

struct Detection {
    RunGroup group;
    changepoint::Segmentation robust;
    changepoint::SeriesVerdict verdict;
    changepoint::GateDecision newest;
    MetricTrends metrics;  // not adjusted yet: call adjust() before showing them
    int repeat = 0;  // the run that repeated the newest one and decided; 0: none (confirmation.hpp)
};

[[nodiscard]] Detection detect(RunGroup group, DetectionOptions const& options = {});

/// suspected: the newest run is slow, which one run may be by chance. confirmed: two runs in a row
/// are slow, or that run and its repeat, or a whole level (3 runs and more).
enum class Regression { none, suspected, confirmed };
BOOST_DESCRIBE_ENUM(Regression, none, suspected, confirmed)
[[nodiscard]] Regression regression_of(Detection const& detection);

enum class Finding { undecided, good, bad };
BOOST_DESCRIBE_ENUM(Finding, undecided, good, bad)
/// bad: a regression is confirmed. undecided: too few runs, or a suspected regression.
[[nodiscard]] Finding finding_of(Detection const& detection);

/// The newest run that is slow like its level, and its good_run_before(); 0, 0: none.
struct RunPair {
    int good = 0, bad = 0;
};
[[nodiscard]] RunPair runs_to_compare(Detection const& detection);

}  // namespace osora::db::analysis
