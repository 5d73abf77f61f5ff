// Which part of which parameter a rank keeps when the ranks share them (ZeRO, arXiv 1910.02054):
// pure arithmetic on parameter sizes, without LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace osora::worker {

struct ShardLayoutOptions {
    std::int64_t bucket_items = 1;  // rounded up to what the ranks can share
    int shards = 1;                 // ranks that share each bucket
    std::int64_t align_items = 1;   // parameters begin at multiples of it
    /// First parameters of the groups that have a bucket each, ascending from 0; empty: buckets are
    /// pieces of bucket_items, wherever that cuts a parameter.
    std::vector<std::size_t> groups;
};

/// All parameters are in one flat tensor, last parameter first, divided into buckets. A bucket is a
/// multiple of shards * align_items long: rank r keeps its r-th part.
struct ShardLayout {
    struct Slot {
        std::int64_t offset = 0, items = 0;             // in the flat tensor
        std::size_t first_bucket = 0, last_bucket = 0;  // both included
    };
    struct Bucket {
        std::int64_t offset = 0, items = 0;  // padding included
    };
    /// Items [first, first + items) of a parameter; item `at` of the rank's part of `bucket`.
    struct Piece {
        std::size_t parameter = 0;
        std::int64_t first = 0, items = 0;
        std::size_t bucket = 0;
        std::int64_t at = 0;
    };
    std::vector<Slot> slots;      // in the order of the parameters
    std::vector<Bucket> buckets;  // in the order in which backward fills them
    int shards = 1;

    /// What rank `shard` keeps. All ranks' pieces together are all parameters, once each.
    [[nodiscard]] std::vector<Piece> pieces(int shard) const;
};

/// `items`: of each parameter, in forward order, > 0.
[[nodiscard]] ShardLayout lay_out_shards(std::span<std::int64_t const> items,
                                         ShardLayoutOptions const& options);

/// Groups of whole units (parts of a network that run in sequence), each of at least `bucket_items`
/// if units are left; the first unit is a separate group. `units`: the first parameter of each,
/// ascending from 0; two units may begin at the same one.
[[nodiscard]] std::vector<std::size_t> group_units(std::span<std::int64_t const> items,
                                                   std::span<std::size_t const> units,
                                                   std::int64_t bucket_items);

}  // namespace osora::worker
