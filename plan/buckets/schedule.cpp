// The step schedule: cycles of buckets, and each bucket's stream of samples.
#include "plan/buckets/schedule.hpp"

#include "base/check.hpp"
#include "plan/buckets/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::plan {
namespace {

// The purposes of hashes; two purposes never share a value.
enum class Purpose : std::uint64_t { cycle = 1, epoch, keep, redraw, sample, replacement };

constexpr std::uint64_t kRedrawsMax = 1000;  // a bucket's share_max is reached long before this

/// Shares of `total` visits in proportion to `weights`, at least one each, by largest remainder.
std::vector<std::uint32_t> apportion(std::vector<double> const& weights, std::uint32_t total) {
    OSORA_CHECK_LE(weights.size(), total);
    double const sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    auto const free = static_cast<double>(total - weights.size());
    std::vector<std::uint32_t> visits(weights.size(), 1);
    std::vector<std::pair<double, std::size_t>> remainders;
    auto left = total - static_cast<std::uint32_t>(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        // Each already has one visit; the remaining ones go to buckets with a larger share.
        double const wanted = std::max(weights[i] / sum * total - 1.0, 0.0);
        auto const whole = static_cast<std::uint32_t>(std::min(wanted, free));
        std::uint32_t const given = std::min(whole, left);
        visits[i] += given;
        left -= given;
        remainders.emplace_back(wanted - whole, i);
    }
    std::ranges::sort(remainders, [](auto const& a, auto const& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t i = 0; left > 0; i = (i + 1) % remainders.size(), --left) {
        ++visits[remainders[i].second];
    }
    return visits;
}

/// A key for a bucket from its properties, so that its stream does not depend on the other buckets.
std::uint64_t salt_of(Bucket const& bucket) {
    auto const part = [](int value) { return static_cast<std::uint64_t>(value); };
    return hash64({bucket.entry, part(bucket.key.height), part(bucket.key.width),
                   part(bucket.key.num_frames)});
}

std::uint64_t draw(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint64_t b,
                   std::uint64_t c = 0) {
    return hash64({seed, static_cast<std::uint64_t>(purpose), a, b, c});
}

}  // namespace

Result<void> Schedule::take(BucketSet set, std::span<std::int64_t const> entry_batches,
                            std::uint64_t seed) {
    if (set.buckets.empty()) {
        return Error{Errc::invalid_input,
                     "schedule: no clip fits any bucket; use smaller resolutions or fewer frames"};
    }
    for (Bucket const& bucket : set.buckets) {
        OSORA_CHECK_LT(bucket.entry, entry_batches.size());
        OSORA_CHECK(!bucket.clips.empty() && bucket.clips.size() == bucket.shares.size());
        std::int64_t const batch = entry_batches[bucket.entry];
        if (batch < 1) {
            return Error{
                Errc::invalid_input,
                fmt::format("schedule: bucket {}: batch {} must be >= 1", bucket.entry, batch)};
        }
        batches_.push_back(batch);
    }
    set_ = std::move(set);
    seed_ = seed;
    return {};
}

Result<StepSchedule> StepSchedule::make(BucketSet set, std::span<std::int64_t const> entry_batches,
                                        ScheduleOptions const& options) {
    StepSchedule schedule;
    OSORA_TRY_VOID(schedule.take(std::move(set), entry_batches, options.seed));
    std::vector<double> weights;
    for (std::size_t i = 0; i < schedule.buckets().size(); ++i) {
        Bucket const& bucket = schedule.buckets()[i];
        schedule.share_max_.push_back(*std::ranges::max_element(bucket.shares));
        weights.push_back(bucket.weight / static_cast<double>(schedule.batches_[i]));
    }
    auto const length = std::max<std::uint32_t>(options.cycle_length,
                                                4 * static_cast<std::uint32_t>(weights.size()));
    schedule.visits_ = apportion(weights, length);
    for (std::size_t bucket = 0; bucket < schedule.visits_.size(); ++bucket) {
        schedule.cycle_.insert(schedule.cycle_.end(), schedule.visits_[bucket], bucket);
    }
    return schedule;
}

std::uint32_t StepSchedule::cycle_length() const {
    return static_cast<std::uint32_t>(cycle_.size());
}

std::int64_t Schedule::global_batch_size(std::size_t bucket) const {
    OSORA_CHECK_LT(bucket, batches_.size());
    return batches_[bucket];
}

StepSchedule::Slot StepSchedule::slot(std::uint64_t step) const {
    std::uint64_t const cycle = step / cycle_.size();
    std::uint64_t const here = step % cycle_.size();
    std::uint64_t const key = draw(seed_, Purpose::cycle, cycle, 0);
    Slot slot{.bucket = cycle_[permuted(here, cycle_.size(), key)], .visit = 0};
    slot.visit = cycle * visits_[slot.bucket];
    for (std::uint64_t before = 0; before < here; ++before) {
        if (cycle_[permuted(before, cycle_.size(), key)] == slot.bucket) ++slot.visit;
    }
    return slot;
}

SampleRef StepSchedule::sample(std::size_t bucket, std::uint64_t position) const {
    OSORA_CHECK_LT(bucket, set_.buckets.size());
    Bucket const& b = set_.buckets[bucket];
    std::uint64_t const salt = salt_of(b);
    std::uint64_t const size = b.clips.size();
    std::uint64_t const epoch = position / size;
    std::uint64_t const order = draw(seed_, Purpose::epoch, salt, epoch);
    std::uint64_t member = permuted(position % size, size, order);
    // Clips with a smaller share than others give up some of their places in proportion. With equal
    // shares, the usual case, an epoch is a plain permutation.
    auto kept = [&](std::uint64_t attempt) {
        double const share = b.shares[member];
        double const u = unit_interval(draw(seed_, Purpose::keep, salt, position, attempt));
        return u * share_max_[bucket] < share;
    };
    for (std::uint64_t attempt = 0; attempt < kRedrawsMax && !kept(attempt); ++attempt) {
        member = below(draw(seed_, Purpose::redraw, salt, position, attempt), size);
    }
    return {.bucket = bucket,
            .position = position,
            .epoch = epoch,
            .clip = b.clips[member],
            .random = hash64(
                {seed_, static_cast<std::uint64_t>(Purpose::sample), salt, epoch, position})};
}

std::vector<SampleRef> StepSchedule::samples(std::uint64_t step) const {
    return rank_samples(step, 0, 1);
}

std::vector<SampleRef> StepSchedule::rank_samples(std::uint64_t step, int dp_rank,
                                                  int dp_size) const {
    OSORA_CHECK_LE(0, dp_rank);
    OSORA_CHECK_LT(dp_rank, dp_size);
    Slot const slot = this->slot(step);
    std::int64_t const batch = batches_[slot.bucket];
    OSORA_CHECK_EQ(batch % dp_size, 0);
    std::int64_t const share = batch / dp_size;
    std::uint64_t const first = slot.visit * static_cast<std::uint64_t>(batch) +
                                static_cast<std::uint64_t>(dp_rank * share);
    std::vector<SampleRef> refs;
    refs.reserve(static_cast<std::size_t>(share));
    for (std::int64_t i = 0; i < share; ++i) {
        refs.push_back(sample(slot.bucket, first + static_cast<std::uint64_t>(i)));
    }
    return refs;
}

std::uint32_t Schedule::replacement(SampleRef const& sample, std::uint64_t attempt) const {
    OSORA_CHECK_LT(sample.bucket, set_.buckets.size());
    auto const& clips = set_.buckets[sample.bucket].clips;
    OSORA_CHECK_LT(attempt + 1, clips.size());
    auto const at = std::ranges::lower_bound(clips, sample.clip);
    auto const own = static_cast<std::uint64_t>(at - clips.begin());
    // A permutation of the other members: indices after the sample's own place move up by one.
    std::uint64_t const key =
        hash64({sample.random, static_cast<std::uint64_t>(Purpose::replacement)});
    std::uint64_t const other = permuted(attempt, clips.size() - 1, key);
    return clips[other < own ? other : other + 1];
}

}  // namespace osora::plan
