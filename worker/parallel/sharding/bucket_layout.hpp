// Which gradients are reduced together: pure arithmetic on parameter sizes, without LibTorch. Used
// by the trainer's GradReducer and by rehearsals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace osora::worker {

/// The ways in which gradients are reduced (debug.collectives, parallel.overlap).
enum class ReduceWay {
    overlapped,    // during backward; shared parameters come back during the next forward
    after,         // when backward has ended
    per_parameter  // known-bad: barrier, one blocking collective a parameter, barrier
};

struct BucketLayout {
    /// Of a parameter: its place in the flat tensor and the buckets that it lies in.
    struct Slot {
        std::int64_t offset = 0;                        // items
        std::size_t first_bucket = 0, last_bucket = 0;  // both included
    };
    std::vector<Slot> slots;                 // in the order of the parameters
    std::vector<std::int64_t> bucket_items;  // in the order in which they are reduced

    [[nodiscard]] std::int64_t items() const;
};

/// All gradients are in one flat tensor, last parameter first. `items`: of each parameter, in
/// forward order, > 0. Buckets are pieces of `bucket_items` items, the last one the rest; with
/// per_parameter each parameter is a bucket.
[[nodiscard]] BucketLayout lay_out_buckets(std::span<std::int64_t const> items,
                                           std::int64_t bucket_items, ReduceWay way);

/// Items of a bucket of `bucket_mib` MiB, at least 1.
[[nodiscard]] std::int64_t bucket_items_of(double bucket_mib, std::int64_t item_bytes);

/// `collectives`: debug.collectives of a run file; `overlap`: parallel.overlap.
[[nodiscard]] ReduceWay reduce_way(std::string_view collectives, bool overlap);

}  // namespace osora::worker
