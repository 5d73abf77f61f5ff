// What ranks share out, they have together once, for any sizes, ranks and bucket.
#include "worker/parallel/sharding/shard_layout.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace osora::worker {
namespace {

void expect_complete(std::vector<std::int64_t> const& items, ShardLayout const& layout,
                     std::int64_t grain) {
    std::vector<std::vector<int>> seen;
    for (auto const count : items) seen.emplace_back(static_cast<std::size_t>(count), 0);
    for (int rank = 0; rank < layout.shards; ++rank) {
        for (auto const& piece : layout.pieces(rank)) {
            auto const& bucket = layout.buckets[piece.bucket];
            ASSERT_LE(piece.at + piece.items, bucket.items / layout.shards);
            // Where the slot says that it lies.
            EXPECT_EQ(layout.slots[piece.parameter].offset + piece.first,
                      bucket.offset + rank * (bucket.items / layout.shards) + piece.at);
            for (std::int64_t i = 0; i < piece.items; ++i)
                ++seen[piece.parameter].at(static_cast<std::size_t>(piece.first + i));
        }
    }
    for (auto const& parameter : seen)
        for (int const times : parameter) ASSERT_EQ(times, 1);
    std::int64_t end = 0;
    for (auto const& bucket : layout.buckets) {
        EXPECT_EQ(bucket.offset, end);
        EXPECT_EQ(bucket.items % grain, 0);
        end += bucket.items;
    }
}

TEST(ShardLayout, EveryItemHasOneOwner) {
    std::mt19937 random(5);
    auto const number = [&](int first, int last) {
        return std::uniform_int_distribution(first, last)(random);
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<std::int64_t> items(static_cast<std::size_t>(number(1, 20)));
        for (auto& each : items) each = number(1, 400);
        ShardLayoutOptions options{.bucket_items = number(1, 600),
                                   .shards = number(1, 9),
                                   .align_items = number(1, 16),
                                   .groups = {}};
        std::int64_t const grain = options.shards * options.align_items;
        expect_complete(items, lay_out_shards(items, options), grain);
        options.groups.assign(1, 0);
        for (std::size_t i = 1; i < items.size(); ++i)
            if (number(0, 2) == 0) options.groups.push_back(i);
        auto const grouped = lay_out_shards(items, options);
        EXPECT_EQ(grouped.buckets.size(), options.groups.size());
        expect_complete(items, grouped, grain);
    }
}

// 1,000 parameters or 128 ranks make no more buckets than the bytes ask for.
TEST(ShardLayout, AsManyBucketsAsTheBytesAskFor) {
    for (int const shards : {2, 8, 128}) {
        std::vector<std::int64_t> const items(1000, 16 * 128);
        auto const layout = lay_out_shards(
            items,
            {.bucket_items = 16 * 128 * 100, .shards = shards, .align_items = 16, .groups = {}});
        EXPECT_EQ(layout.buckets.size(), 10u) << shards;
    }
}

TEST(ShardLayout, UnitsStayTogether) {
    // The first unit alone; then as many as reach 100 items; the last group takes what is left.
    std::vector<std::int64_t> const items{10, 10, 60, 30, 20, 90, 40, 5};
    std::vector<std::size_t> const units{0, 2, 3, 3, 5, 7};
    EXPECT_EQ(group_units(items, units, 100), (std::vector<std::size_t>{0, 2, 5, 7}));
    EXPECT_EQ(group_units(items, units, 1), (std::vector<std::size_t>{0, 2, 3, 5, 7}));
    EXPECT_EQ(group_units(items, units, 1000), (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(group_units(items, std::vector<std::size_t>{0}, 10), (std::vector<std::size_t>{0}));
}

}  // namespace
}  // namespace osora::worker
