// A schedule that goes through given clips once, in a given order: for jobs other than training.
// Pure.
#pragma once

#include "plan/buckets/schedule.hpp"

#include <cstdint>
#include <vector>

namespace osora::plan {

/// One step: clips of one bucket.
struct OnePassStep {
    std::size_t bucket = 0;
    std::vector<std::uint32_t> clips;  // at least one, in order
};

class OnePassSchedule final : public Schedule {
public:
    /// The window of a sample depends on (seed, bucket, clip): not on the step, nor on the other
    /// clips.
    [[nodiscard]] static Result<OnePassSchedule> make(BucketSet set, std::vector<OnePassStep> steps,
                                                      std::uint64_t seed);

    /// For dp_rank 0 of 1: every rank has a separate schedule.
    [[nodiscard]] std::vector<SampleRef> rank_samples(std::uint64_t step, int dp_rank,
                                                      int dp_size) const override;
    [[nodiscard]] std::size_t bucket_of(std::uint64_t step, int dp_rank) const override;
    [[nodiscard]] std::size_t steps() const { return steps_.size(); }

private:
    std::vector<OnePassStep> steps_;
};

}  // namespace osora::plan
