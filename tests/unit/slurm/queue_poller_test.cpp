// A day of a queue in virtual time.
#include "slurm/queue_poller.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

QueuedJob job(std::int64_t id, JobState state, std::int64_t submitted = 1000) {
    QueuedJob job;
    job.job_id = id;
    job.state = state;
    job.submit_time = submitted;
    job.name = "demo-0001";
    return job;
}

JobKey key(std::int64_t id, std::int64_t submitted = 1000) {
    return {"", id, submitted, "demo-0001"};
}

/// Polls whenever one is due until `end`; returns how often.
int poll_until(QueuePoller& poller, MonotonicTime& now, MonotonicTime end,
               std::vector<QueuedJob> const& queue) {
    int calls = 0;
    while (true) {
        auto const due = poller.next_poll();
        if (!due || std::max(*due, now) >= end) return calls;
        now = std::max(*due, now);
        poller.asked(now);
        EXPECT_FALSE(poller.next_poll());  // one at a time
        poller.answered(now, queue);
        ++calls;
    }
}

TEST(QueuePoller, OneCallForAllAndFurtherApartWhileNothingChanges) {
    QueuePoller poller;
    EXPECT_FALSE(poller.next_poll());
    std::vector<QueuedJob> queue;
    for (int i = 1; i <= 50; ++i) {
        poller.watch("run" + std::to_string(i), key(i));
        queue.push_back(job(i, JobState::pending));
    }
    MonotonicTime now = 100s;
    int const calls = poll_until(poller, now, 700s, queue);
    EXPECT_GE(calls, 20);
    EXPECT_LE(calls, 28);  // 2 s, 2, 3, 4.5, ... 30
    queue[3] = job(4, JobState::running);
    poller.asked(now);
    EXPECT_THAT(poller.answered(now, queue), ElementsAre("run4"));
    EXPECT_EQ(poller.next_poll(), now + 2s);
}

TEST(QueuePoller, NoCallWhileNothingCanChange) {
    QueuePoller poller;
    poller.watch("a", key(1));
    poller.watch("b", key(2));
    poller.set_speaking("a", true);
    EXPECT_TRUE(poller.next_poll());
    MonotonicTime now = 10s;
    poller.asked(now);
    EXPECT_THAT(poller.answered(now, {job(1, JobState::running), job(2, JobState::completed)}),
                UnorderedElementsAre("a", "b"));
    EXPECT_TRUE(poller.view("b")->gone);
    EXPECT_FALSE(poller.next_poll());  // a has news, b has ended
    poller.set_speaking("a", false);
    EXPECT_EQ(poller.next_poll(), MonotonicTime{0});
    poller.forget("a");
    EXPECT_FALSE(poller.next_poll());
}

TEST(QueuePoller, AMissingJobHasNotEndedUntilADeadline) {
    QueuePoller poller;
    poller.watch("a", key(1));
    MonotonicTime now = 0s;
    poll_until(poller, now, 50s, {});
    EXPECT_FALSE(poller.view("a")->gone);
    poller.asked(now);
    poller.failed(now);  // no answer: the time starts again
    poll_until(poller, now, 100s, {});
    EXPECT_FALSE(poller.view("a")->gone);
    poll_until(poller, now, 130s, {});
    EXPECT_TRUE(poller.view("a")->gone);
    EXPECT_EQ(poller.view("a")->state, JobState::unknown);
}

TEST(QueuePoller, ReusedIdsAreStrangersAndRequeuedJobsAreNot) {
    EXPECT_NE(find_job({job(1, JobState::running, 1000)}, key(1)), nullptr);
    EXPECT_NE(find_job({job(1, JobState::pending, 2000)}, key(1)), nullptr);  // requeued
    auto other = job(1, JobState::running, 2000);
    other.name = "demo-0002";
    EXPECT_EQ(find_job({other}, key(1)), nullptr);
    EXPECT_EQ(find_job({job(1, JobState::running, 900)}, key(1)), nullptr);
    EXPECT_NE(find_job({job(1, JobState::running, 900)}, key(1, 0)), nullptr);  // not known yet
    auto nameless = key(1);
    nameless.name.clear();
    EXPECT_EQ(find_job({job(1, JobState::running, 2000)}, nameless), nullptr);
}

TEST(QueuePoller, FailuresBackOffAndBlindnessIsReported) {
    QueuePoller poller;
    poller.watch("a", key(1));
    MonotonicTime now = 0s;
    std::vector<MonotonicTime> gaps;
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(poller.is_blind(), i >= 3);
        poller.asked(now);
        poller.failed(now);
        gaps.push_back(*poller.next_poll() - now);
        now = *poller.next_poll();
    }
    EXPECT_THAT(gaps, ElementsAre(4s, 8s, 16s, 30s, 30s, 30s));
    poller.asked(now);
    poller.answered(now, {job(1, JobState::running)});
    EXPECT_FALSE(poller.is_blind());
    poller.asked(now);
    EXPECT_THAT(poller.answered(now, {job(1, JobState::unknown)}), IsEmpty());
    EXPECT_EQ(poller.view("a")->state, JobState::running);
}

}  // namespace
}  // namespace osora::slurm
