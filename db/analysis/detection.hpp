// What `osora detect` says of a series of runs, as a value: runs that can be compared, in groups,
// and for each group its levels, the state it is in, and the word on its newest run. Pure.
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
    bool metrics = false;  // look at what else became worse, too
};

/// Steps by bucket.
using Mix = std::map<std::string, double>;

/// Seconds a step: medians of the buckets, weighted with `mix`; the run's own mix when it lacks
/// one.
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
    /// Seconds a step, one a run: medians of the buckets, weighted with the steps that all runs of
    /// the group took of each, so that a run's own mix does not show.
    std::vector<double> step_s;
    std::vector<double> mad_s;  // of its steps, by bucket as step_s
    std::vector<MetricSeries> metrics;
};

/// Runs with enough steps; the group of the newest run comes first.
[[nodiscard]] std::vector<RunGroup> run_groups(std::vector<SeriesRun> const& runs);

/// The run that the one at `index` is held against, wherever osora names one: of the last five
/// before it that were faster by `min_effect` or more, the newest that was about as fast as they
/// usually were. One quick run, and slow ones beside the change, are passed over; none: there is no
/// faster one.
[[nodiscard]] std::optional<std::size_t> good_run_before(RunGroup const& group, std::size_t index,
                                                         double min_effect = 0.03);
/// Its number, for the run of this number; 0: none.
[[nodiscard]] int good_run_of(RunGroup const& group, int number);

struct Detection {
    RunGroup group;
    changepoint::Segmentation robust;
    changepoint::SeriesVerdict verdict;
    changepoint::GateDecision newest;
    MetricTrends metrics;  // by themselves: adjust() them before they are shown
    int repeat = 0;  // the run that repeated the newest and decided; 0: none (confirmation.hpp)
};

[[nodiscard]] Detection detect(RunGroup group, DetectionOptions const& options = {});

/// suspected: the newest run is slow, which one run may be by chance. confirmed: two in a row are,
/// or that run and its repeat, or a whole level (3 runs and more).
enum class Regression { none, suspected, confirmed };
BOOST_DESCRIBE_ENUM(Regression, none, suspected, confirmed)
[[nodiscard]] Regression regression_of(Detection const& detection);

enum class Finding { undecided, good, bad };
BOOST_DESCRIBE_ENUM(Finding, undecided, good, bad)
/// bad: a regression is confirmed. undecided: too few runs, or one is suspected.
[[nodiscard]] Finding finding_of(Detection const& detection);

/// The newest run that is slow, as its level is, and good_run_before() it; 0, 0: none.
struct RunPair {
    int good = 0, bad = 0;
};
[[nodiscard]] RunPair runs_to_compare(Detection const& detection);

}  // namespace osora::db::analysis
