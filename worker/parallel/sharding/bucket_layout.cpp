// A parameter may span two buckets; the number of buckets is ceil(bytes / bucket size).
#include "worker/parallel/sharding/bucket_layout.hpp"

#include "base/check.hpp"
#include "base/text/units.hpp"

#include <algorithm>
#include <numeric>

namespace osora::worker {

std::int64_t BucketLayout::items() const {
    return std::accumulate(bucket_items.begin(), bucket_items.end(), std::int64_t{0});
}

BucketLayout lay_out_buckets(std::span<std::int64_t const> items, std::int64_t bucket_items,
                             ReduceWay way) {
    OSORA_CHECK(bucket_items > 0);
    bool const each = way == ReduceWay::per_parameter;
    BucketLayout layout;
    layout.slots.resize(items.size());
    std::int64_t at = 0;
    for (std::size_t i = items.size(); i-- > 0;) {
        OSORA_CHECK(items[i] > 0);
        std::size_t const place = items.size() - 1 - i;
        auto const first = static_cast<std::size_t>(at / bucket_items);
        auto const last = static_cast<std::size_t>((at + items[i] - 1) / bucket_items);
        layout.slots[i] = {at, each ? place : first, each ? place : last};
        if (each) layout.bucket_items.push_back(items[i]);
        at += items[i];
    }
    for (std::int64_t start = 0; !each && start < at; start += bucket_items)
        layout.bucket_items.push_back(std::min(bucket_items, at - start));
    return layout;
}

std::int64_t bucket_items_of(double bucket_mib, std::int64_t item_bytes) {
    auto const bytes = static_cast<std::int64_t>(bucket_mib * static_cast<double>(kMiB));
    return std::max<std::int64_t>(1, bytes / item_bytes);
}

ReduceWay reduce_way(std::string_view collectives, bool overlap) {
    if (collectives == "per_parameter") return ReduceWay::per_parameter;
    return overlap ? ReduceWay::overlapped : ReduceWay::after;
}

}  // namespace osora::worker
