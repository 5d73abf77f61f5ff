#include "plan/buckets/original_schedule.hpp"

#include "base/check.hpp"
#include "plan/buckets/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <tuple>

namespace osora::plan {
namespace {

/// torch.randperm on a CPU generator; below 2^32 / 20 elements it takes 32 bits for each.
std::vector<std::size_t> torch_permutation(std::size_t size, std::mt19937& generator) {
    OSORA_CHECK_LT(size, std::size_t{0xFFFFFFFF} / 20);
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i + 1 < size; ++i) {
        std::swap(order[i], order[i + generator() % (size - i)]);
    }
    return order;
}

using Place = std::pair<std::size_t, std::size_t>;  // row, shape

struct Filled {
    Place place;
    std::vector<std::uint32_t> clips;
};

/// Clips by bucket; buckets in the order of their first clip.
std::vector<Filled> group_clips(BucketTable const& table, std::span<ClipShape const> clips,
                                std::uint64_t seed) {
    std::map<Place, std::size_t> index;
    std::vector<Filled> filled;
    for (std::size_t c = 0; c < clips.size(); ++c) {
        auto const row = table.draw_row(clips[c], original_draws(seed + c * table.shape_count()));
        if (!row) continue;
        Place const place{*row, table.nearest(clips[c], *row)};
        auto const [at, is_new] = index.try_emplace(place, filled.size());
        if (is_new) filled.push_back({place, {}});
        filled[at->second].clips.push_back(static_cast<std::uint32_t>(c));
    }
    return filled;
}

}  // namespace

std::vector<MicroBatch> original_epoch(BucketTable const& table, std::span<ClipShape const> clips,
                                       std::span<std::int64_t const> batches, std::uint64_t seed,
                                       int dp_size) {
    OSORA_CHECK(table.options().rule == AssignRule::original && dp_size > 0);
    std::mt19937 generator(static_cast<std::uint32_t>(seed));
    std::vector<std::vector<MicroBatch>> dealt;
    std::vector<std::size_t> access;  // index in dealt
    for (Filled const& bucket : group_clips(table, clips, seed)) {
        auto const source = table.rows()[bucket.place.first].source;
        OSORA_CHECK_LT(source, batches.size());
        auto const batch = static_cast<std::size_t>(batches[source]);
        std::size_t const whole = bucket.clips.size() / batch;
        auto const order = torch_permutation(whole * batch, generator);
        auto& micro_batches = dealt.emplace_back();
        for (std::size_t m = 0; m < whole; ++m) {
            MicroBatch micro{bucket.place.first, bucket.place.second, {}};
            for (std::size_t i = 0; i < batch; ++i) {
                micro.clips.push_back(bucket.clips[order[m * batch + i]]);
            }
            micro_batches.push_back(std::move(micro));
        }
        access.insert(access.end(), whole, dealt.size() - 1);
    }
    auto const order = torch_permutation(access.size(), generator);
    std::size_t const used = access.size() - access.size() % static_cast<std::size_t>(dp_size);
    std::vector<std::size_t> next(dealt.size(), 0);
    std::vector<MicroBatch> epoch;
    for (std::size_t i = 0; i < used; ++i) {
        std::size_t const bucket = access[order[i]];
        epoch.push_back(std::move(dealt[bucket][next[bucket]++]));
    }
    return epoch;
}

/// The epoch of the last call; guarded, because several threads call it.
class OriginalSchedule::Epochs {
public:
    Epochs(BucketTable table, std::vector<ClipShape> clips, std::vector<std::int64_t> batches,
           Options const& options)
        : table_(std::move(table)),
          clips_(std::move(clips)),
          batches_(std::move(batches)),
          options_(options) {
        deal(0);
    }

    struct Found {
        std::uint64_t epoch = 0;
        std::size_t micro_batch = 0;  // of the epoch
        MicroBatch content;
    };
    [[nodiscard]] Found at(std::uint64_t step, int dp_rank) {
        std::lock_guard const lock(mutex_);
        if (step < first_step_) {
            first_step_ = 0;
            deal(0);
        }
        // An epoch may have no step; after this many in a row the table keeps nothing.
        constexpr int kEmptyMax = 10'000;
        for (int empty = 0; step - first_step_ >= steps(); ++empty) {
            if (steps() > 0) empty = 0;
            OSORA_CHECK_LT(empty, kEmptyMax);
            first_step_ += steps();
            deal(epoch_ + 1);
        }
        std::size_t const index =
            (step - first_step_) * static_cast<std::size_t>(options_.dp_size) +
            static_cast<std::size_t>(dp_rank);
        return {epoch_, index, order_[index]};
    }
    [[nodiscard]] std::uint64_t steps() const {
        return order_.size() / static_cast<std::size_t>(options_.dp_size);
    }
    [[nodiscard]] BucketTable const& table() const { return table_; }

private:
    void deal(std::uint64_t epoch) {
        epoch_ = epoch;
        order_ = original_epoch(table_, clips_, batches_, options_.seed + epoch, options_.dp_size);
    }

    BucketTable const table_;
    std::vector<ClipShape> const clips_;
    std::vector<std::int64_t> const batches_;  // batch of a rank, by entry of the run file
    Options const options_;
    std::mutex mutex_;
    std::uint64_t epoch_ = 0;
    std::uint64_t first_step_ = 0;
    std::vector<MicroBatch> order_;
};

Result<OriginalSchedule> OriginalSchedule::make(BucketTable table, std::vector<ClipShape> clips,
                                                std::span<std::int64_t const> entry_batches,
                                                Options const& options) {
    OSORA_CHECK_LE(1, options.dp_size);
    OriginalSchedule schedule;
    OSORA_TRY_VOID(schedule.take(fill_buckets(table, clips), entry_batches, options.seed));
    std::vector<std::int64_t> batches;
    for (std::int64_t const batch : entry_batches) {
        if (batch % options.dp_size != 0) {
            return Error{Errc::not_divisible,
                         fmt::format("schedule: batch {} is not a multiple of dp_size {}", batch,
                                     options.dp_size)};
        }
        batches.push_back(std::max<std::int64_t>(batch / options.dp_size, 1));
    }
    schedule.dp_size_ = options.dp_size;
    schedule.epochs_ =
        std::make_shared<Epochs>(std::move(table), std::move(clips), std::move(batches), options);
    if (schedule.epochs_->steps() == 0) {
        return Error{Errc::invalid_input,
                     fmt::format("schedule: the clips do not fill one batch for each of {} ranks; "
                                 "use smaller batches or bucket_schedule = \"balanced\"",
                                 options.dp_size)};
    }
    return schedule;
}

std::size_t OriginalSchedule::index_of(MicroBatch const& micro_batch) const {
    auto const& row = epochs_->table().rows()[micro_batch.row];
    AspectShape const& shape = row.shapes[micro_batch.shape];
    BucketKey const key{
        .height = shape.height, .width = shape.width, .num_frames = row.entry.num_frames};
    auto const bucket = std::ranges::find_if(
        set_.buckets, [&](Bucket const& b) { return b.entry == row.source && b.key == key; });
    OSORA_CHECK(bucket != set_.buckets.end());
    return static_cast<std::size_t>(bucket - set_.buckets.begin());
}

std::size_t OriginalSchedule::bucket_of(std::uint64_t step, int dp_rank) const {
    OSORA_CHECK_LE(0, dp_rank);
    OSORA_CHECK_LT(dp_rank, dp_size_);
    return index_of(epochs_->at(step, dp_rank).content);
}

std::vector<SampleRef> OriginalSchedule::rank_samples(std::uint64_t step, int dp_rank,
                                                      int dp_size) const {
    OSORA_CHECK_EQ(dp_size, dp_size_);
    OSORA_CHECK_LE(0, dp_rank);
    OSORA_CHECK_LT(dp_rank, dp_size);
    auto const found = epochs_->at(step, dp_rank);
    std::size_t const bucket = index_of(found.content);
    std::vector<SampleRef> refs;
    for (std::uint32_t const clip : found.content.clips) {
        refs.push_back({.bucket = bucket,
                        .position = found.micro_batch * found.content.clips.size() + refs.size(),
                        .epoch = found.epoch,
                        .clip = clip,
                        .random = hash64({seed_, found.epoch, clip})});
    }
    return refs;
}

}  // namespace osora::plan
