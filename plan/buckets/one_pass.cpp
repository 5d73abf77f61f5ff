#include "plan/buckets/one_pass.hpp"

#include "base/check.hpp"
#include "plan/buckets/hash.hpp"

#include <algorithm>

namespace osora::plan {
namespace {

std::uint64_t random_of(std::uint64_t seed, Bucket const& bucket) {
    constexpr std::uint64_t kOnePass = 0x0E4C;
    auto const part = [](int value) { return static_cast<std::uint64_t>(value); };
    auto const& [height, width, num_frames] = bucket.key;
    return hash64({seed, kOnePass, bucket.entry, part(height), part(width), part(num_frames)});
}

}  // namespace

Result<OnePassSchedule> OnePassSchedule::make(BucketSet set, std::vector<OnePassStep> steps,
                                              std::uint64_t seed) {
    std::size_t entries = 0;
    for (Bucket const& bucket : set.buckets) entries = std::max(entries, bucket.entry + 1);
    std::vector<std::int64_t> batches(entries, 1);
    for (OnePassStep const& step : steps) {
        OSORA_CHECK_LT(step.bucket, set.buckets.size());
        OSORA_CHECK(!step.clips.empty());
        auto& batch = batches[set.buckets[step.bucket].entry];
        batch = std::max(batch, static_cast<std::int64_t>(step.clips.size()));
    }
    OnePassSchedule schedule;
    OSORA_TRY_VOID(schedule.take(std::move(set), batches, seed));
    schedule.steps_ = std::move(steps);
    return schedule;
}

std::vector<SampleRef> OnePassSchedule::rank_samples(std::uint64_t step, int dp_rank,
                                                     int dp_size) const {
    OSORA_CHECK_EQ(dp_rank, 0);
    OSORA_CHECK_EQ(dp_size, 1);
    OSORA_CHECK_LT(step, steps_.size());
    auto const& [bucket, clips] = steps_[step];
    std::uint64_t const random = random_of(seed(), buckets()[bucket]);
    std::vector<SampleRef> refs;
    for (std::uint32_t const clip : clips) {
        refs.push_back({.bucket = bucket,
                        .position = refs.size(),
                        .epoch = 0,
                        .clip = clip,
                        .random = hash64({random, clip})});
    }
    return refs;
}

std::size_t OnePassSchedule::bucket_of(std::uint64_t step, int /*dp_rank*/) const {
    OSORA_CHECK_LT(step, steps_.size());
    return steps_[step].bucket;
}

}  // namespace osora::plan
