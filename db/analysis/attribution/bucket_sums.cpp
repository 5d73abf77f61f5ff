#include "db/analysis/attribution/bucket_sums.hpp"

#include <algorithm>
#include <utility>

namespace osora::db::analysis {
namespace {

/// Short runs have shorter blocks, so that there are enough blocks to draw from.
constexpr std::size_t kBootstrapBlocksMin = 10;

void add_step(StepParts const& step, std::size_t bucket, BucketSums& into) {
    if (into.size() <= bucket) into.resize(bucket + 1);
    auto& sums = into[bucket];
    double const weight = step.weight;
    sums.steps += weight;
    sums.step_s += weight * step.step_s;
    sums.work_s += weight * step.work_s;
    sums.samples_per_rank += weight * step.samples_per_rank;
    for (std::size_t i = 0; i < kParts; ++i) sums.s[i] += weight * step.s[i];
}

}  // namespace

void PartSums::add(PartSums const& other) {
    steps += other.steps;
    step_s += other.step_s;
    work_s += other.work_s;
    samples_per_rank += other.samples_per_rank;
    for (std::size_t i = 0; i < kParts; ++i) s[i] += other.s[i];
}

std::size_t BucketNumbers::of(std::string const& label) {
    return numbers_.try_emplace(label, numbers_.size()).first->second;
}

SideSums sums_of(Side const& side, BucketNumbers& numbers) {
    SideSums found;
    std::vector<StepParts> all;
    for (auto const* run : side.runs) {
        auto const steps = step_parts(*run);
        auto const block =
            std::clamp<std::size_t>(steps.size() / kBootstrapBlocksMin, 1, kBlockSteps);
        BucketSums of_run, of_block;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            auto const& label = run->buckets[static_cast<std::size_t>(steps[i].bucket)];
            add_step(steps[i], numbers.of(label), of_run);
            add_step(steps[i], numbers.of(label), of_block);
            if ((i + 1) % block == 0 || i + 1 == steps.size()) {
                found.blocks.push_back(std::exchange(of_block, {}));
            }
        }
        if (!steps.empty()) found.runs.push_back(std::move(of_run));
        all.insert(all.end(), steps.begin(), steps.end());
    }
    found.steps = static_cast<int>(all.size());
    found.residual_share = residual_share(all);
    return found;
}

void add_to(BucketSums& total, BucketSums const& unit) {
    if (total.size() < unit.size()) total.resize(unit.size());
    for (std::size_t i = 0; i < unit.size(); ++i) total[i].add(unit[i]);
}

BucketSums total_of(std::vector<BucketSums> const& units) {
    BucketSums total;
    for (auto const& unit : units) add_to(total, unit);
    return total;
}

}  // namespace osora::db::analysis
