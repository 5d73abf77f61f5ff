// Ranks that die, stop or do something else than the others: real workers, a timeout of seconds.
#include "protocol/flight/flight_files.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>
#include <signal.h>

namespace osora::tests {
namespace {

using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

constexpr double kTimeout_s = 3;

class CollectiveFaults : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(6, [](int i) { return i % 2 == 0 ? "64x64" : "96x64"; });
    }
    plan::WorkerJob endless(int ranks) const {
        auto made = job(ranks, 100000);
        made.config.faults.collective_timeout = kTimeout_s;
        for (auto& bucket : made.plan.chosen.buckets) {
            bucket.global_batch_size = 2 * ranks;
            bucket.micro_batch_size = 2;
        }
        return made;
    }
    /// Sends `signal` to `rank` in step 5 and waits until the others have ended.
    std::vector<WorkerRun> hit(plan::WorkerJob const& job, int ranks, int rank, int signal) {
        if (signal == SIGSTOP) stopped_rank_ = rank;
        return run(job, ranks, [&, sent = false](boost::json::object const& message) mutable {
            if (sent || message.at("type").as_string() != "step") return false;
            if (message.at("step").as_int64() < 5) return false;
            sent = true;
            hit_at_ = steady_clock::now();
            ::kill(pids_[static_cast<std::size_t>(rank)], signal);
            return false;
        });
    }
    void expect_ended(WorkerRun const& run) const {
        EXPECT_EQ(run.exit_code, 10);
        EXPECT_EQ(run.of("failed").size(), 1u);
        std::chrono::duration<double> const took = run.ended - hit_at_;
        RecordProperty("ended_after_s", std::to_string(took.count()));
        std::printf("ended after %.2f s\n", took.count());
    }
    static std::string message_of(WorkerRun const& run) {
        auto const failed = run.of("failed");
        return failed.empty() ? "" : std::string(failed[0].at("message").as_string());
    }
    std::size_t dumps(int ranks) const {
        return protocol::read_flights(folder_ / "run dir", 0, ranks).size();
    }
    steady_clock::time_point hit_at_;
};

TEST_F(CollectiveFaults, AStoppedRankEndsTheOthersWithinTwiceTheTimeout) {
    auto const runs = hit(endless(3), 3, 1, SIGSTOP);
    for (int const rank : {0, 2}) {
        SCOPED_TRACE(rank);
        auto const& run = runs[static_cast<std::size_t>(rank)];
        expect_ended(run);
        EXPECT_THAT(message_of(run),
                    testing::ContainsRegex("rank 1 gave no sign: .* #[0-9]+ of all gloo in step "
                                           "[0-9]+.* .started by ranks 0, 2. waits for it"));
    }
    EXPECT_EQ(dumps(3), 2u);
}

TEST_F(CollectiveFaults, AKilledRankEndsTheOthersAtOnce) {
    auto const runs = hit(endless(2), 2, 1, SIGKILL);
    expect_ended(runs[0]);
    EXPECT_EQ(runs[1].exit_code, -SIGKILL);
    EXPECT_THAT(message_of(runs[0]), HasSubstr("rank 1 gave no sign"));
    EXPECT_EQ(dumps(2), 1u);
}

/// The last of two stages is stopped: the first waits for a gradient.
TEST_F(CollectiveFaults, AStoppedStageIsNamedByTheNext) {
    auto staged = endless(2);
    staged.plan.chosen.pp_size = 2;
    staged.plan.chosen.dp_size = 1;
    auto const runs = hit(staged, 2, 1, SIGSTOP);
    expect_ended(runs[0]);
    EXPECT_THAT(message_of(runs[0]), HasSubstr("rank 1 gave no sign"));
}

/// Ranks that split the same clips into other micro-batches: all of them report it, and none waits.
TEST_F(CollectiveFaults, RanksThatDoNotAgreeSaySo) {
    job_of_rank_ = [this](int rank) {
        auto made = endless(2);
        for (auto& bucket : made.plan.chosen.buckets) bucket.micro_batch_size = 2 - rank;
        return made;
    };
    hit_at_ = steady_clock::now();
    auto const runs = run(endless(2), 2);
    for (WorkerRun const& run : runs) {
        EXPECT_EQ(run.exit_code, 14);
        EXPECT_THAT(message_of(run), testing::ContainsRegex(
                                         "ranks do not agree on the step: rank 0 does step [0-9]+ "
                                         "with bucket .*; rank 1 does step [0-9]+ with bucket"));
    }
}

}  // namespace
}  // namespace osora::tests
