// The step schedule: proportions, epochs, resume, and independence of the rank count.
#include "plan/buckets/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace osora::plan {
namespace {

Bucket bucket(std::size_t entry, BucketKey key, std::vector<std::uint32_t> clips) {
    Bucket b;
    b.entry = entry;
    b.key = key;
    b.clips = std::move(clips);
    b.shares.assign(b.clips.size(), 1.0f);
    b.weight = static_cast<double>(b.clips.size());
    return b;
}

std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::uint32_t i = 0; i < count; ++i) values[i] = first + i;
    return values;
}

StepSchedule three_buckets(std::uint64_t seed, std::uint32_t cycle = 60) {
    BucketSet set;
    set.buckets = {bucket(0, {64, 64, 8}, range(0, 80)), bucket(1, {48, 48, 4}, range(80, 120)),
                   bucket(2, {64, 64, 1}, range(200, 21))};
    return *StepSchedule::make(std::move(set), std::vector<std::int64_t>{4, 12, 8},
                               {.seed = seed, .cycle_length = cycle});
}

TEST(Schedule, VisitsInProportionToClipsPerBatch) {
    StepSchedule const schedule = three_buckets(7);
    // 80/4 : 120/12 : 21/8 = 20 : 10 : 2.625, of 60.
    std::vector<std::uint32_t> const visits(schedule.visits_per_cycle().begin(),
                                            schedule.visits_per_cycle().end());
    EXPECT_EQ(visits, (std::vector<std::uint32_t>{37, 18, 5}));
    for (std::uint64_t cycle : {0u, 1u, 9u}) {
        std::vector<std::uint32_t> seen(3, 0);
        for (std::uint64_t i = 0; i < 60; ++i) ++seen[schedule.slot(cycle * 60 + i).bucket];
        EXPECT_EQ(seen, visits);
    }
}

TEST(Schedule, RareBucketsAreVisitedToo) {
    BucketSet set;
    set.buckets = {bucket(0, {64, 64, 8}, range(0, 100'000)), bucket(0, {48, 80, 8}, {100'000})};
    auto const schedule = *StepSchedule::make(set, std::vector<std::int64_t>{4}, {});
    EXPECT_EQ(schedule.visits_per_cycle()[0], 127u);
    EXPECT_EQ(schedule.visits_per_cycle()[1], 1u);
}

TEST(Schedule, VisitsCountUpInOrderOfSteps) {
    StepSchedule const schedule = three_buckets(3);
    std::map<std::size_t, std::uint64_t> next;
    for (std::uint64_t step = 0; step < 300; ++step) {
        auto const slot = schedule.slot(step);
        EXPECT_EQ(slot.visit, next[slot.bucket]++);
    }
}

TEST(Schedule, AnEpochHasEachClipOnceAndEpochsDiffer) {
    StepSchedule const schedule = three_buckets(11);
    std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::uint32_t>> epochs;
    std::map<std::size_t, std::uint64_t> position;
    for (std::uint64_t step = 0; step < 240; ++step) {
        for (SampleRef const& ref : schedule.samples(step)) {
            EXPECT_EQ(ref.position, position[ref.bucket]++);
            epochs[{ref.bucket, ref.epoch}].push_back(ref.clip);
        }
    }
    int whole = 0;
    for (auto const& [key, clips] : epochs) {
        auto const all = schedule.buckets()[key.first].clips;
        if (clips.size() != all.size()) continue;  // the last, unfinished
        EXPECT_EQ(std::set(clips.begin(), clips.end()), std::set(all.begin(), all.end()));
        if (key.second == 0) {
            EXPECT_NE(clips, (epochs[{key.first, 1}]));
        }
        ++whole;
    }
    EXPECT_GT(whole, 10);
}

/// Buckets of any sizes and batches; the same `number` gives the same ones.
StepSchedule any_schedule(std::uint64_t number) {
    std::mt19937_64 random(number);
    auto const below = [&](std::uint32_t end) {
        return static_cast<std::uint32_t>(random() % end);
    };
    BucketSet set;
    std::vector<std::int64_t> batches;
    std::uint32_t first = 0;
    for (std::uint32_t i = 0, count = 1 + below(8); i < count; ++i) {
        std::uint32_t const clips = 1 + below(i == 0 ? 4 : 70);
        set.buckets.push_back(bucket(i, {64, 64, static_cast<int>(i) + 1}, range(first, clips)));
        batches.push_back(4 * (1 + below(6)));
        first += clips;
    }
    return *StepSchedule::make(std::move(set), batches,
                               {.seed = random(), .cycle_length = 1 + below(40)});
}

TEST(Schedule, AnyBucketsGiveEachClipOnceAnEpochFromAnyStepOn) {
    for (std::uint64_t number = 0; number < 100; ++number) {
        SCOPED_TRACE("any_schedule(" + std::to_string(number) + ")");
        StepSchedule const whole = any_schedule(number);
        std::uint64_t const stop = 120;
        std::vector<std::vector<SampleRef>> order;
        std::map<std::size_t, std::vector<std::uint32_t>> streams;
        for (std::uint64_t step = 0; step < stop; ++step) {
            order.push_back(whole.samples(step));
            for (SampleRef const& ref : order.back()) {
                ASSERT_EQ(ref.position, streams[ref.bucket].size());
                streams[ref.bucket].push_back(ref.clip);
            }
        }
        for (auto const& [bucket, clips] : streams) {
            std::size_t const size = whole.buckets()[bucket].clips.size();
            for (std::size_t start = 0; start < clips.size(); start += size) {
                std::size_t const end = std::min(start + size, clips.size());
                std::set<std::uint32_t> const epoch(clips.begin() + static_cast<long>(start),
                                                    clips.begin() + static_cast<long>(end));
                ASSERT_EQ(epoch.size(), end - start) << "bucket " << bucket;
            }
        }
        StepSchedule const resumed = any_schedule(number);  // knows nothing of the steps before
        for (std::uint64_t step = number % stop; step < stop; ++step) {
            std::vector<SampleRef> joined;
            for (int rank = 0; rank < 4; ++rank) {
                auto const part = resumed.rank_samples(step, rank, 4);
                EXPECT_EQ(part.front().bucket, resumed.bucket_of(step, rank));
                joined.insert(joined.end(), part.begin(), part.end());
            }
            ASSERT_EQ(joined, order[step]) << "step " << step;
        }
    }
}

TEST(Schedule, RanksShareEachStepWhateverTheirNumber) {
    StepSchedule const schedule = three_buckets(5);
    for (std::uint64_t step : {0ull, 59ull, 60ull, 1'000'003ull}) {
        auto const whole = schedule.samples(step);
        for (int dp_size : {1, 2, 4}) {
            std::vector<SampleRef> joined;
            for (int rank = 0; rank < dp_size; ++rank) {
                auto const part = schedule.rank_samples(step, rank, dp_size);
                joined.insert(joined.end(), part.begin(), part.end());
            }
            EXPECT_EQ(joined, whole) << "step " << step << " dp_size " << dp_size;
        }
    }
}

TEST(Schedule, DependsOnTheSeedAlone) {
    EXPECT_EQ(three_buckets(5).samples(123), three_buckets(5).samples(123));
    int different = 0;
    for (std::uint64_t step = 0; step < 60; ++step) {
        if (three_buckets(5).samples(step) != three_buckets(6).samples(step)) ++different;
    }
    EXPECT_GT(different, 55);
}

TEST(Schedule, RandomsAreAllDifferent) {
    StepSchedule const schedule = three_buckets(5);
    std::set<std::uint64_t> randoms;
    std::size_t samples = 0;
    for (std::uint64_t step = 0; step < 200; ++step) {
        for (SampleRef const& ref : schedule.samples(step)) {
            randoms.insert(ref.random);
            ++samples;
        }
    }
    EXPECT_EQ(randoms.size(), samples);
}

TEST(Schedule, ClipsWithASmallerShareComeLessOften) {
    BucketSet set;
    Bucket b = bucket(0, {64, 64, 8}, range(0, 10));
    for (std::size_t i = 5; i < 10; ++i) b.shares[i] = 0.25f;
    b.weight = 5 + 5 * 0.25;
    set.buckets = {b};
    auto const schedule = *StepSchedule::make(set, std::vector<std::int64_t>{1}, {});
    std::vector<int> count(10, 0);
    for (std::uint64_t i = 0; i < 50'000; ++i) ++count[schedule.sample(0, i).clip];
    for (std::size_t i = 0; i < 10; ++i) {
        double const expected = 50'000 * (i < 5 ? 1.0 : 0.25) / b.weight;
        EXPECT_NEAR(count[i] / expected, 1.0, 0.12) << i;
    }
}

TEST(Schedule, ReplacementsAreEveryOtherClipOnce) {
    StepSchedule const schedule = three_buckets(5);
    SampleRef const ref = schedule.sample(2, 12);
    std::set<std::uint32_t> seen{ref.clip};
    for (std::uint64_t attempt = 0; attempt + 1 < 21; ++attempt) {
        EXPECT_TRUE(seen.insert(schedule.replacement(ref, attempt)).second);
    }
    EXPECT_EQ(seen.size(), 21u);
}

TEST(Schedule, RefusesNothingToTrainOn) {
    EXPECT_EQ(StepSchedule::make({}, {}, {}).error().code, Errc::invalid_input);
}

}  // namespace
}  // namespace osora::plan
