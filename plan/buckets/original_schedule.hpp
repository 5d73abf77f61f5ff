// The order in which Open-Sora v1.2 trains (opensora/datasets/sampler.py, VariableVideoBatchSampler
// with shuffle and drop_last), for `debug.bucket_schedule = "original"`: each dp rank draws its own
// bucket in every step, so that a step takes as long as its most expensive bucket.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/assign.hpp"
#include "plan/buckets/schedule.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace osora::plan {

/// The samples of one rank in one step.
struct MicroBatch {
    std::size_t row = 0;               // of the table
    std::size_t shape = 0;             // of the row
    std::vector<std::uint32_t> clips;  // in order
    friend bool operator==(MicroBatch const&, MicroBatch const&) = default;
};

/// One epoch: rank r trains on micro-batch step * dp_size + r. `batches[i]`: samples of a rank in
/// entry i of the run file; `seed`: the run's seed plus the number of the epoch. The table must use
/// the original rule. Samples that do not fill a micro-batch, or a step of all ranks, are dropped.
[[nodiscard]] std::vector<MicroBatch> original_epoch(BucketTable const& table,
                                                     std::span<ClipShape const> clips,
                                                     std::span<std::int64_t const> batches,
                                                     std::uint64_t seed, int dp_size);

class OriginalSchedule final : public Schedule {
public:
    struct Options {
        std::uint64_t seed = 0;
        int dp_size = 1;
    };
    /// `entry_batches[i]`: global batch size of entry i of the run file. Errors: as StepSchedule's;
    /// not_divisible; invalid_input when an epoch has no complete step of all ranks.
    [[nodiscard]] static Result<OriginalSchedule> make(BucketTable table,
                                                       std::vector<ClipShape> clips,
                                                       std::span<std::int64_t const> entry_batches,
                                                       Options const& options);

    /// dp_size is that of the options. The first call for a step deals out its epoch and all
    /// earlier epochs that were not dealt yet.
    [[nodiscard]] std::vector<SampleRef> rank_samples(std::uint64_t step, int dp_rank,
                                                      int dp_size) const override;
    [[nodiscard]] std::size_t bucket_of(std::uint64_t step, int dp_rank) const override;

private:
    class Epochs;
    [[nodiscard]] std::size_t index_of(MicroBatch const& micro_batch) const;
    std::shared_ptr<Epochs> epochs_;
    int dp_size_ = 1;
};

}  // namespace osora::plan
