#include "db/analysis/bucket_compute.hpp"

#include "base/robust.hpp"
#include "db/analysis/measure.hpp"

#include <cmath>

namespace osora::db::analysis {
namespace {

double median_of(StepTable const& steps, char const* name,
                 std::vector<std::size_t> const& indices) {
    auto const found = steps.columns.find(name);
    return found == steps.columns.end() ? kUnknown : median(pick(found->second.mean, indices));
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
        BucketWork const work{.bucket = steps.buckets[bucket],
                              .steps = static_cast<int>(indices.size()),
                              .forward_s = median_of(steps, "forward_s", indices),
                              .backward_s = median_of(steps, "backward_s", indices),
                              .optimizer_s = median_of(steps, "optimizer_s", indices)};
        if (std::isfinite(work.forward_s + work.backward_s)) works.push_back(work);
    }
    return works;
}

}  // namespace osora::db::analysis
