#include "worker/parallel/sharding/shard_layout.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace osora::worker {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}

/// Buckets of equal size over parameters that follow each other.
void cut_evenly(ShardLayout& layout, std::int64_t end, std::int64_t bucket_items,
                std::int64_t grain) {
    std::int64_t const size = rounded_up(bucket_items, grain);
    std::int64_t const total = rounded_up(end, grain);
    for (std::int64_t at = 0; at < total; at += size)
        layout.buckets.push_back({at, std::min(size, total - at)});
    for (auto& slot : layout.slots) {
        slot.first_bucket = static_cast<std::size_t>(slot.offset / size);
        slot.last_bucket = static_cast<std::size_t>((slot.offset + slot.items - 1) / size);
    }
}

}  // namespace

ShardLayout lay_out_shards(std::span<std::int64_t const> items, ShardLayoutOptions const& options) {
    OSORA_CHECK(options.bucket_items > 0 && options.shards > 0 && options.align_items > 0);
    std::int64_t const grain = options.shards * options.align_items;
    ShardLayout layout;
    layout.shards = options.shards;
    layout.slots.resize(items.size());
    std::int64_t at = 0, bucket_start = 0;
    for (std::size_t i = items.size(); i-- > 0;) {
        OSORA_CHECK(items[i] > 0);
        std::size_t const bucket = layout.buckets.size();
        layout.slots[i] = {at, items[i], bucket, bucket};
        at += rounded_up(items[i], options.align_items);
        if (!std::ranges::binary_search(options.groups, i)) continue;
        at = rounded_up(at, grain);
        layout.buckets.push_back({bucket_start, at - bucket_start});
        bucket_start = at;
    }
    if (options.groups.empty()) cut_evenly(layout, at, options.bucket_items, grain);
    return layout;
}

std::vector<ShardLayout::Piece> ShardLayout::pieces(int shard) const {
    std::vector<Piece> found;
    for (std::size_t i = slots.size(); i-- > 0;) {
        Slot const& slot = slots[i];
        for (std::size_t b = slot.first_bucket; b <= slot.last_bucket; ++b) {
            std::int64_t const part = buckets[b].items / shards;
            std::int64_t const begin = buckets[b].offset + shard * part;
            std::int64_t const from = std::max(slot.offset, begin);
            std::int64_t const to = std::min(slot.offset + slot.items, begin + part);
            if (from >= to) continue;
            found.push_back({i, from - slot.offset, to - from, b, from - begin});
        }
    }
    return found;
}

std::vector<std::size_t> group_units(std::span<std::int64_t const> items,
                                     std::span<std::size_t const> units,
                                     std::int64_t bucket_items) {
    OSORA_CHECK(!units.empty() && units.front() == 0);
    std::vector<std::size_t> groups{0};
    std::int64_t gathered = 0;
    for (std::size_t u = 1; u < units.size(); ++u) {
        for (std::size_t i = units[u - 1]; i < units[u]; ++i) gathered += items[i];
        bool const first = groups.size() == 1;
        if (units[u] >= items.size() || units[u] == groups.back()) continue;
        if (!first && gathered < bucket_items) continue;
        groups.push_back(units[u]);
        gathered = 0;
    }
    return groups;
}

}  // namespace osora::worker
