#include "db/analysis/report/run_windows.hpp"

#include "base/robust.hpp"
#include "db/analysis/measure.hpp"
#include "protocol/steps/bucket_label.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace osora::db::analysis {
namespace {

using BucketOfAttempt = std::pair<int, int>;

/// Detects where the samples per step of a bucket change.
class BatchChanges {
public:
    BatchChanges(StepTable const& steps, StepSelection const& selection) : steps_(steps) {
        for (auto const i : selection.kept) {
            int& ranks = ranks_of_attempt_[steps.attempt[i]];
            ranks = std::max(ranks, steps.ranks[i]);
        }
        std::map<BucketOfAttempt, int> last, changes;
        for (auto const i : selection.kept) {
            if (!counts(i)) continue;
            auto const [at, is_new] = last.try_emplace(key(i), steps.samples[i]);
            if (!is_new && at->second != steps.samples[i] && ++changes[key(i)] > kBatchChangesMax) {
                varying_.insert(key(i));
            }
            at->second = steps.samples[i];
        }
    }

    /// Whether step i has another number of samples than the steps of its bucket since the last
    /// change. One change may apply to all buckets.
    bool changes(std::size_t i) {
        if (!counts(i) || varying_.contains(key(i))) return false;
        auto const [at, is_new] = samples_.try_emplace(key(i), steps_.samples[i]);
        if (is_new || at->second == steps_.samples[i]) return false;
        samples_ = {{key(i), steps_.samples[i]}};
        return true;
    }

private:
    BucketOfAttempt key(std::size_t i) const { return {steps_.attempt[i], steps_.bucket[i]}; }
    /// If ranks train different buckets in one step, their number of samples differs each time.
    bool counts(std::size_t i) const {
        auto const& label = steps_.buckets[static_cast<std::size_t>(steps_.bucket[i])];
        return steps_.ranks[i] == ranks_of_attempt_.at(steps_.attempt[i]) &&
               !protocol::is_mixed_bucket(label);
    }

    StepTable const& steps_;
    std::map<int, int> ranks_of_attempt_;
    std::map<BucketOfAttempt, int> samples_;
    std::set<BucketOfAttempt> varying_;
};

struct StepStretch {
    std::vector<std::size_t> kept, used;
};

std::vector<StepStretch> stretches_of(StepTable const& steps) {
    auto const selection = select_steps(steps);
    BatchChanges batch(steps, selection);
    std::vector<StepStretch> stretches;
    int attempt = -1;
    std::size_t next_used = 0;
    for (auto const i : selection.kept) {
        bool const other_batch = batch.changes(i);
        if (stretches.empty() || steps.attempt[i] != attempt || other_batch)
            stretches.emplace_back();
        attempt = steps.attempt[i];
        auto& stretch = stretches.back();
        stretch.kept.push_back(i);
        if (next_used < selection.used.size() && selection.used[next_used] == i) {
            stretch.used.push_back(i);
            ++next_used;
        }
    }
    return stretches;
}

void measure_window(StepTable const& steps, std::vector<std::size_t> const& used, RunWindow& into) {
    auto const times = steps.columns.find("step_time_s");
    if (used.empty() || times == steps.columns.end()) return;
    auto const& mean = times->second.mean;
    auto const spread = median_and_mad(pick(mean, used));
    into.step_s_median = spread.median;
    into.step_s_mad = spread.mad;
    std::map<int, std::vector<double>> by_bucket;
    double samples = 0, seconds = 0;
    for (auto const i : used) {
        by_bucket[steps.bucket[i]].push_back(mean[i]);
        samples += steps.samples[i];
    }
    for (auto& [bucket, values] : by_bucket) {
        auto const count = static_cast<double>(values.size());
        seconds += count * median(std::move(values));
    }
    if (samples > 0) into.samples_per_s = samples / seconds;
}

}  // namespace

std::vector<RunWindow> run_windows(StepTable const& steps) {
    std::vector<RunWindow> windows;
    for (auto const& stretch : stretches_of(steps)) {
        RunWindow window;
        window.attempt = steps.attempt[stretch.kept.front()];
        window.first_step = steps.step[stretch.kept.front()];
        window.last_step = steps.step[stretch.kept.back()];
        for (auto const i : stretch.kept) {
            window.ranks = std::max(window.ranks, steps.ranks[i]);
            ++window.buckets[steps.buckets[static_cast<std::size_t>(steps.bucket[i])]];
        }
        window.steps = static_cast<int>(stretch.kept.size());
        window.steps_used = static_cast<int>(stretch.used.size());
        measure_window(steps, stretch.used, window);
        windows.push_back(std::move(window));
    }
    return windows;
}

}  // namespace osora::db::analysis
