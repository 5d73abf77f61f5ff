// How long clips that cannot be read are waited for.
#include "worker/data/retry_budget.hpp"

#include "worker/data/retry_files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace osora::worker {
namespace {

/// Pauses of a shard whose clips are never read; `try_s` is spent on each try.
std::vector<double> pauses_of_shard(RetryBudget& budget, double try_s) {
    std::vector<double> pauses;
    while (auto const pause_s = budget.pause_s(static_cast<int>(pauses.size()))) {
        pauses.push_back(*pause_s);
        budget.spend(*pause_s + try_s);
    }
    return pauses;
}

TEST(RetryBudget, PausesGrowAndAreBoundedForAllShardsTogether) {
    RetryBudget budget(60);
    std::vector<double> const expected{0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 10, 10, 7.3};
    auto const first = pauses_of_shard(budget, 0);
    ASSERT_GE(first.size(), expected.size());
    double sum = 0;
    for (double const pause_s : first) sum += pause_s;
    EXPECT_NEAR(sum, 60, 1e-9);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(first[i], expected[i], 1e-9);
    // Clips of other shards are tried once more all the same.
    EXPECT_EQ(pauses_of_shard(budget, 0), std::vector<double>{0.0});
}

/// A clip that takes 30 s to fail must not be tried ten times.
TEST(RetryBudget, SlowTriesCount) {
    RetryBudget budget(60);
    EXPECT_EQ(pauses_of_shard(budget, 30).size(), 2u);
}

TEST(RetryBudget, AShortOutageLeavesTimeForTheNext) {
    RetryBudget budget(60);
    budget.spend(59);
    EXPECT_DOUBLE_EQ(*budget.pause_s(0), 0.1);
    EXPECT_DOUBLE_EQ(*budget.pause_s(9), 1);
}

/// Files that are away, and a clock that nobody waits for.
struct FilesAway {
    int failing = 1000;  // attempts
    int stop_at = 1000;  // pause, from 0
    double try_s = 0;
    double now_s = 0;
    int attempts = 0;
    std::vector<double> said;

    Retried retry(RetryBudget& budget) {
        auto const attempt = [this] {
            now_s += try_s;
            return ++attempts > failing;
        };
        auto const pause = [this](double seconds) {
            now_s += seconds;
            return static_cast<int>(said.size()) <= stop_at;
        };
        return retry_files(budget, {.attempt = attempt,
                                    .say = [this](double pause_s) { said.push_back(pause_s); },
                                    .pause = pause,
                                    .now_s = [this] { return now_s; }});
    }
};

TEST(RetryFiles, EndsWithTheFirstAttemptThatSucceeds) {
    RetryBudget budget(60);
    FilesAway files{.failing = 2, .said = {}};
    EXPECT_EQ(files.retry(budget), Retried::ended);
    EXPECT_EQ(files.said, (std::vector<double>{0.1, 0.2, 0.4}));
    EXPECT_EQ(files.attempts, 3);
    EXPECT_NEAR(*budget.pause_s(20), 10, 1e-9);
    budget.spend(60 - 0.7 - 1);  // what is left but one second
    EXPECT_NEAR(*budget.pause_s(20), 1, 1e-9);
}

TEST(RetryFiles, SlowAttemptsSpendTheTimeAsPausesDo) {
    RetryBudget budget(60);
    FilesAway slow{.try_s = 30, .said = {}};
    EXPECT_EQ(slow.retry(budget), Retried::out_of_time);
    EXPECT_EQ(slow.attempts, 2);  // 30.1 s and 30.2 s
    FilesAway later{.said = {}};
    EXPECT_EQ(later.retry(budget), Retried::out_of_time);
    EXPECT_EQ(later.said, std::vector<double>{0.0});
    EXPECT_EQ(later.attempts, 1);
}

TEST(RetryFiles, AStopEndsItWithoutAnotherAttempt) {
    RetryBudget budget(60);
    FilesAway files{.stop_at = 2, .said = {}};
    EXPECT_EQ(files.retry(budget), Retried::stopped);
    EXPECT_EQ(files.said.size(), 3u);
    EXPECT_EQ(files.attempts, 2);
}

/// Opens a file that is away for `failing` attempts, with a clock that nobody waits for.
struct Opening {
    int failing = 0;
    Errc code = Errc::io;
    bool stops = false;
    double now_s = 0;
    int attempts = 0;
    std::vector<std::string> said;

    Result<int> open() {
        FileWait const wait{
            .limit_s = 60,
            .say = [this](Error const& why, double) { said.push_back(why.message); },
            .pause =
                [this](double seconds) {
                    now_s += seconds;
                    return !stops;
                },
            .now_s = [this] { return now_s; }};
        return open_in_time(wait, [this]() -> Result<int> {
            if (attempts++ < failing) return Error{code, "away"};
            return 7;
        });
    }
};

TEST(OpenInTime, GivesWhatComesBack) {
    Opening file{.failing = 2, .said = {}};
    auto const opened = file.open();
    ASSERT_TRUE(opened.has_value());
    EXPECT_EQ(*opened, 7);
    EXPECT_EQ(file.said, (std::vector<std::string>{"away", "away"}));
}

TEST(OpenInTime, GivesTheErrorWhenTheTimeIsOver) {
    Opening file{.failing = 1000, .said = {}};
    auto const opened = file.open();
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, Errc::io);
    EXPECT_NEAR(file.now_s, 60, 1e-9);
}

TEST(OpenInTime, WaitsForNothingElse) {
    Opening damaged{.failing = 1000, .code = Errc::corrupt, .said = {}};
    EXPECT_EQ(damaged.open().error().code, Errc::corrupt);
    EXPECT_EQ(damaged.attempts, 1);
    Opening present{.said = {}};
    EXPECT_EQ(*present.open(), 7);
    EXPECT_TRUE(present.said.empty());
}

TEST(OpenInTime, AStopIsNoFailureOfTheFile) {
    Opening file{.failing = 1000, .stops = true, .said = {}};
    auto const opened = file.open();
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, Errc::cancelled);
    EXPECT_EQ(opened.error().message, "ordered to stop: away");
}

}  // namespace
}  // namespace osora::worker
