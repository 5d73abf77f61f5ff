// The step schedule: which bucket and which samples each step trains on, as a pure function of
// (seed, step). It knows no rank, worker or machine, so any of them can restart anywhere.
//
// A cycle is a fixed number of steps that visits each bucket in proportion to its clips / batch, in
// an order shuffled by hash(seed, cycle). A bucket has an endless stream of samples: epoch after
// epoch, each a permutation of its clips. Its k-th visit takes positions [k G, (k + 1) G).
#pragma once

#include "base/result.hpp"
#include "plan/buckets/assign.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace osora::plan {

/// One sample of the run; equal refs give equal pixels.
struct SampleRef {
    std::size_t bucket = 0;      // index of the schedule's buckets
    std::uint64_t position = 0;  // in the bucket's stream
    std::uint64_t epoch = 0;     // of the bucket: position / its clips
    std::uint32_t clip = 0;      // index as in fill_buckets
    std::uint64_t random = 0;    // hash(seed, bucket, epoch, position), for crops and noise
    friend bool operator==(SampleRef const&, SampleRef const&) = default;
};

/// The interface between loader and schedule: StepSchedule below, or OriginalSchedule. Results
/// depend only on the constructor's arguments; several threads may call it.
class Schedule {
public:
    virtual ~Schedule() = default;

    /// The samples of one dp rank in a step, all of one bucket; dp_size must divide the batch.
    [[nodiscard]] virtual std::vector<SampleRef> rank_samples(std::uint64_t step, int dp_rank,
                                                              int dp_size) const = 0;
    /// The bucket of these samples.
    [[nodiscard]] virtual std::size_t bucket_of(std::uint64_t step, int dp_rank) const = 0;
    /// The clip that replaces the `attempt`-th (0-based) clip that could not be decoded; every
    /// other clip of the bucket comes up once in attempt = 0 .. clips - 2.
    [[nodiscard]] std::uint32_t replacement(SampleRef const& sample, std::uint64_t attempt) const;

    [[nodiscard]] std::span<Bucket const> buckets() const { return set_.buckets; }
    /// dp_size times the samples of a rank in this bucket.
    [[nodiscard]] std::int64_t global_batch_size(std::size_t bucket) const;
    [[nodiscard]] std::uint64_t seed() const { return seed_; }

protected:
    /// Rejects a set without buckets and batches < 1; entry_batches: see StepSchedule::make.
    [[nodiscard]] Result<void> take(BucketSet set, std::span<std::int64_t const> entry_batches,
                                    std::uint64_t seed);
    Schedule() = default;
    Schedule(Schedule const&) = default;
    Schedule(Schedule&&) = default;
    Schedule& operator=(Schedule const&) = default;
    Schedule& operator=(Schedule&&) = default;

    BucketSet set_;
    std::vector<std::int64_t> batches_;  // per bucket
    std::uint64_t seed_ = 0;
};

struct ScheduleOptions {
    std::uint64_t seed = 0;
    std::uint32_t cycle_length = 128;  // steps; raised to 4 x buckets if that is more
};

class StepSchedule final : public Schedule {
public:
    /// `entry_batches[i]`: global batch size of entry i of the run file. Rejects a set without
    /// buckets and batches < 1.
    [[nodiscard]] static Result<StepSchedule> make(BucketSet set,
                                                   std::span<std::int64_t const> entry_batches,
                                                   ScheduleOptions const& options);

    struct Slot {
        std::size_t bucket = 0;
        std::uint64_t visit = 0;  // 0-based, of this bucket since step 0
    };
    /// O(cycle_length), as are the two below; nothing is cached between calls.
    [[nodiscard]] Slot slot(std::uint64_t step) const;
    /// All samples of a step: global_batch_size of them, in stream order.
    [[nodiscard]] std::vector<SampleRef> samples(std::uint64_t step) const;
    /// The contiguous share of one dp rank; dp_size must divide the batch.
    [[nodiscard]] std::vector<SampleRef> rank_samples(std::uint64_t step, int dp_rank,
                                                      int dp_size) const override;
    [[nodiscard]] std::size_t bucket_of(std::uint64_t step, int /*dp_rank*/) const override {
        return slot(step).bucket;
    }

    [[nodiscard]] SampleRef sample(std::size_t bucket, std::uint64_t position) const;
    /// Steps of each bucket in one cycle; they sum to cycle_length().
    [[nodiscard]] std::span<std::uint32_t const> visits_per_cycle() const { return visits_; }
    [[nodiscard]] std::uint32_t cycle_length() const;

private:
    std::vector<std::uint32_t> visits_;  // per bucket and cycle
    std::vector<float> share_max_;       // per bucket
    std::vector<std::size_t> cycle_;     // bucket of each slot, before the shuffle
};

}  // namespace osora::plan
