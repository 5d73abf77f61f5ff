// Items made ahead: their order, the bound, and the end.
#include "worker/data/prefetcher.hpp"

#include "tests/kit/patience.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace osora::worker {
namespace {

TEST(Prefetcher, GivesEachStepOnceAndInOrder) {
    Prefetcher<std::uint64_t> items(
        [](std::uint64_t step) { return Result<std::uint64_t>(10 * step); },
        {.start = 3, .stop = 50, .ahead = 4});
    for (std::uint64_t step = 3; step < 50; ++step) {
        auto const item = items.next(step);
        ASSERT_TRUE(item.has_value());
        EXPECT_EQ(*item, 10 * step);
    }
}

TEST(Prefetcher, NeverHasMoreThanItMay) {
    std::atomic<int> made = 0;
    Prefetcher<int> items([&](std::uint64_t) { return Result<int>(++made); },
                          {.start = 0, .stop = 100, .ahead = 2});
    for (std::uint64_t step = 0; step < 100; ++step) {
        EXPECT_LE(made, static_cast<int>(step) + 3);  // two ready, one that was just taken
        ASSERT_TRUE(items.next(step).has_value());
    }
}

TEST(Prefetcher, AnErrorIsTheLastItem) {
    Prefetcher<int> items(
        [](std::uint64_t step) -> Result<int> {
            if (step == 2) return Error{Errc::corrupt, "step 2"};
            return static_cast<int>(step);
        },
        {.start = 0, .stop = 10, .ahead = 8});
    EXPECT_EQ(*items.next(0), 0);
    EXPECT_EQ(*items.next(1), 1);
    EXPECT_EQ(items.next(2).error().message, "step 2");
}

TEST(Prefetcher, EndsWhileItsMakerWaits) {
    Prefetcher<int> items([](std::uint64_t) { return Result<int>(1); },
                          {.start = 0, .stop = 1000, .ahead = 1});
    EXPECT_EQ(*items.next(0), 1);
}

/// A maker that hangs, in a file system, is known before the destructor waits for it.
TEST(Prefetcher, SaysWhetherItsMakerHasEnded) {
    std::promise<void> asked, answered;
    auto const answer = answered.get_future().share();
    Prefetcher<int> items(
        [&](std::uint64_t step) {
            if (step == 0) asked.set_value();
            answer.wait();
            return Result<int>(1);
        },
        {.start = 0, .stop = 10, .ahead = 1});
    asked.get_future().wait();
    EXPECT_FALSE(items.stop(0));
    answered.set_value();
    EXPECT_TRUE(items.stop(tests::kPatience_s));
}

}  // namespace
}  // namespace osora::worker
