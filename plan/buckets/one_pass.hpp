// A schedule that goes through given clips once, in a given order: what a job that is not training
// reads. Pure.
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
    /// The window that a sample takes follows from (seed, bucket, clip): not from the step, nor
    /// from the other clips.
    [[nodiscard]] static Result<OnePassSchedule> make(BucketSet set, std::vector<OnePassStep> steps,
                                                      std::uint64_t seed);

    /// For dp_rank 0 of 1: every rank has a schedule of its own.
    [[nodiscard]] std::vector<SampleRef> rank_samples(std::uint64_t step, int dp_rank,
                                                      int dp_size) const override;
    [[nodiscard]] std::size_t bucket_of(std::uint64_t step, int dp_rank) const override;
    [[nodiscard]] std::size_t steps() const { return steps_.size(); }

private:
    std::vector<OnePassStep> steps_;
};

}  // namespace osora::plan
