#include "db/analysis/bucket_compute.hpp"

#include "base/robust.hpp"
#include "db/analysis/measure.hpp"

#include <cmath>
#include <utility>

namespace osora::db::analysis {
namespace {

double median_of(StepTable const& steps, char const* name,
                 std::vector<std::size_t> const& indices) {
    auto const found = steps.columns.find(name);
    return found == steps.columns.end() ? kUnknown : median(pick(found->second.mean, indices));
}

/// `name` of a step; `unknown` if it was not recorded.
int figure_of(StepTable const& steps, char const* name, std::size_t step, int unknown) {
    auto const found = steps.columns.find(name);
    if (found == steps.columns.end()) return unknown;
    double const value = found->second.mean[step];
    return std::isfinite(value) ? static_cast<int>(std::lround(value)) : unknown;
}

int micro_batch_of(StepTable const& steps, std::size_t step) {
    return figure_of(steps, "micro_batch_size", step, 0);
}
int recomputed_of(StepTable const& steps, std::size_t step) {
    return figure_of(steps, "recomputed_blocks", step, -1);
}

/// Of these, the steps with as many samples as the first; all, if those are few.
std::vector<std::size_t> with_first_batch(StepTable const& steps,
                                          std::vector<std::size_t> const& indices) {
    constexpr std::size_t kLeast = 5;
    std::vector<std::size_t> own;
    for (auto const i : indices) {
        if (steps.samples[i] == steps.samples[indices.front()]) own.push_back(i);
    }
    return own.size() < kLeast ? indices : own;
}

/// Of these, the steps whose passes were those of the last one.
std::vector<std::size_t> with_last_passes(StepTable const& steps,
                                          std::vector<std::size_t> indices) {
    auto const last = indices.back();
    std::erase_if(indices, [&](std::size_t each) {
        return micro_batch_of(steps, each) != micro_batch_of(steps, last) ||
               recomputed_of(steps, each) != recomputed_of(steps, last);
    });
    return indices;
}

}  // namespace

std::vector<BucketWork> bucket_work(StepTable const& steps) {
    auto const used = select_steps(steps).used;
    std::vector<BucketWork> works;
    for (std::size_t bucket = 0; bucket < steps.buckets.size(); ++bucket) {
        std::vector<std::size_t> indices;
        for (auto const i : used) {
            if (steps.bucket[i] == static_cast<int>(bucket)) indices.push_back(i);
        }
        if (indices.empty()) continue;
        indices = with_last_passes(steps, with_first_batch(steps, indices));
        BucketWork const work{.bucket = steps.buckets[bucket],
                              .steps = static_cast<int>(indices.size()),
                              .micro_batch_size = micro_batch_of(steps, indices.back()),
                              .recomputed_blocks = recomputed_of(steps, indices.back()),
                              .forward_s = median_of(steps, "forward_s", indices),
                              .backward_s = median_of(steps, "backward_s", indices),
                              .optimizer_s = median_of(steps, "optimizer_s", indices)};
        if (std::isfinite(work.forward_s + work.backward_s)) works.push_back(work);
    }
    return works;
}

}  // namespace osora::db::analysis
