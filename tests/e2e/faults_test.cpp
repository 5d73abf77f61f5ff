// Kills every kind of process, fills disks, hangs workers. The run continues, or ends with its
// cause, and nothing remains.
#include "base/files/files.hpp"
#include "base/process/descendants.hpp"
#include "protocol/messages/message.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::HasSubstr;

/// A rank that a busy machine delays is no hang; hang_test shows which rank is blamed.
constexpr double kStepTimeout_s = 5;

class E2eFaults : public Run {};

TEST_F(E2eFaults, AKilledWorkerIsRelaunchedFromTheCheckpoint) {
    RunSpec spec;
    spec.env = {{"OSORA_MOCK_KILL", "1:12@0"}};
    EXPECT_EQ(run_to_end(spec), 0) << errors();
    auto const failures = events<RankFailed>();
    ASSERT_FALSE(failures.empty());
    EXPECT_TRUE(std::ranges::any_of(failures, [](RankFailed const& each) {
        return each.rank == 1 && each.signal == SIGKILL && each.attempt == 0;
    }));
    EXPECT_EQ(events<LaunchOrdered>().size(), 2u);
    for (auto const& started : events<RankStarted>()) {
        EXPECT_EQ(started.start_step, started.attempt == 0 ? 0 : 10);
    }
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eFaults, RestartsAreBoundedAndTheCauseIsReported) {
    RunSpec spec;
    spec.max_restarts = 2;
    spec.env = {{"OSORA_MOCK_KILL", "0:3"}};
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_EQ(events<LaunchOrdered>().size(), 3u);
    auto const end = events<RunEnded>().at(0);
    EXPECT_THAT(end.cause, HasSubstr("rank 0 on node 0 was killed by signal 9"));
    EXPECT_THAT(errors(), HasSubstr("rank 0 on node 0 was killed by signal 9"));
}

TEST_F(E2eFaults, AConfigurationErrorIsNotRetried) {
    RunSpec spec;
    spec.env = {{"OSORA_MOCK_FAIL", "0:3:14"}};
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
    EXPECT_THAT(events<RunEnded>().at(0).cause, HasSubstr("step 3: asked to fail"));
}

TEST_F(E2eFaults, AHangIsDetectedAndRelaunched) {
    RunSpec spec;
    spec.step_timeout_s = kStepTimeout_s;
    spec.env = {{"OSORA_MOCK_HANG", "1:7@0"}, {"OSORA_MOCK_IGNORE_TERM", "1"}};
    EXPECT_EQ(run_to_end(spec), 0) << errors();
    EXPECT_TRUE(std::ranges::any_of(events<HangDetected>(), [](HangDetected const& each) {
        return each.attempt == 0 && each.rank == 1 && each.silent_s >= kStepTimeout_s;
    }));
    EXPECT_GE(events<LaunchOrdered>().size(), 2u);
    EXPECT_GE(last<RankStarted>().start_step, 5);
}

TEST_F(E2eFaults, AHangIsWrittenDownBeforeTheKill) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer delivers no signal to a thread that waits in the kernel";
#endif
    RunSpec spec;
    spec.ranks = 3;
    spec.step_timeout_s = kStepTimeout_s;
    spec.max_restarts = 0;
    spec.env = {{"OSORA_MOCK_HANG", "1:7"}};
    EXPECT_EQ(run_to_end(spec), 1);
    auto const hang = last<HangDetected>();
    EXPECT_EQ(hang.rank, 1);
    EXPECT_EQ(hang.step, 6);
    EXPECT_EQ(hang.waiting, 2);
    EXPECT_THAT(last<RunEnded>().cause, HasSubstr("2 ranks wait for it"));
    EXPECT_EQ(last<RunEnded>().verdict, Verdict::no_progress);
    for (int const rank : {0, 1, 2}) {
        auto const text = read_file(paths().dir / "stacks/0" / fmt::format("{}.txt", rank));
        ASSERT_TRUE(text.has_value()) << rank;
        EXPECT_THAT(*text, HasSubstr("osora-worker-mock --job"));
        EXPECT_THAT(*text, HasSubstr("stack of thread "));
        // The faulty rank is in its own code, the others wait for their peers.
        EXPECT_THAT(*text, HasSubstr(rank == 1 ? "AgentLink::pass_time(" : "Peers::agree(bool)"));
    }
}

TEST_F(E2eFaults, AStoppedRankIsNamedAsSuch) {
    RunSpec spec;
    spec.steps = 100000;
    spec.hold_at = 10;
    spec.step_timeout_s = kStepTimeout_s;
    spec.max_restarts = 1;
    make_run(spec);
    start();
    await_steps(10);
    int pid = 0;
    for (auto const& started : events<RankStarted>()) {
        if (started.rank == 1) pid = started.pid;
    }
    ASSERT_GT(pid, 0);
    ASSERT_EQ(::kill(pid, SIGSTOP), 0);
    release();
    auto const hang = await_event<HangDetected>();
    EXPECT_EQ(hang.rank, 1);
    EXPECT_EQ(hang.detail, "is stopped by a signal");
    EXPECT_EQ(hang.waiting, 1);
    await_event<LaunchOrdered>(2);
    EXPECT_TRUE(eventually([&] { return events<RankStarted>().size() >= 4; }));
    signal_controller(SIGTERM);
    EXPECT_EQ(wait_for_exit(), 130);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eFaults, AWorkerThatSendsNoMessagesIsNamed) {
    RunSpec spec;
    spec.max_restarts = 0;
    spec.env = {{"OSORA_MOCK_GARBAGE", "1:3"}};
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_THAT(events<RunEnded>().at(0).cause,
                HasSubstr("cannot decode its messages to the agent"));
}

TEST_F(E2eFaults, AfterTheControllersDeathNothingIsLeftAndTheRunCanContinue) {
    RunSpec spec;
    spec.steps = 100000;
    spec.lease_s = 0;
    spec.env = {{"OSORA_MOCK_LEAVE_CHILD", "1"}};
    make_run(spec);
    start();
    await_steps(10);
    EXPECT_FALSE(processes().empty());
    kill_controller();
    EXPECT_TRUE(all_gone());
    EXPECT_GE(events<MergedSteps>().size(), 1u);
    EXPECT_TRUE(events<RunEnded>().empty());

    start();
    EXPECT_TRUE(eventually([&] {
        auto const started = events<RankStarted>();
        return !started.empty() && started.back().attempt == 1 && started.back().start_step >= 10;
    }));
    EXPECT_EQ(last<ControllerStarted>().incarnation, 1);
    signal_controller(SIGTERM);
    EXPECT_EQ(wait_for_exit(), 130);
    EXPECT_EQ(events<RunEnded>().at(0).verdict, Verdict::cancelled);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eFaults, ASecondControllerRightAfterTheFirstsDeathTakesOver) {
    RunSpec spec;
    spec.steps = 400;
    spec.lease_s = 0;
    spec.hold_at = 10;
    spec.env = {{"OSORA_MOCK_IGNORE_STOP", "1"}, {"OSORA_MOCK_IGNORE_TERM", "1"}};
    make_run(spec);
    start();
    await_steps(10);
    kill_controller();
    start();
    release();
    EXPECT_EQ(wait_for_exit(2 * kPatience_s), 0) << errors();
    EXPECT_EQ(last<NodeFinished>().steps, 400);
}

TEST_F(E2eFaults, ADeadAgentIsReplaced) {
    RunSpec spec;
    spec.steps = 60;
    spec.hold_at = 10;
    spec.env = {{"OSORA_MOCK_LEAVE_CHILD", "1"}};
    make_run(spec);
    start();
    auto const joined = await_event<AgentJoined>();
    await_event<CheckpointCompleted>();
    signal_process({.pid = joined.pid, .start_ticks = joined.start_ticks}, SIGKILL);
    release();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    EXPECT_THAT(events<NodeLost>().at(0).why, HasSubstr("signal 9"));
    EXPECT_EQ(events<NodeStopped>().at(0).processes_left, 0);
    EXPECT_EQ(events<AgentJoined>().size(), 2u);
    EXPECT_GE(last<RankStarted>().start_step, 5);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eFaults, AStoppedAgentIsLostAndReplaced) {
    make_run({.steps = 60, .lost_after_s = 8, .hold_at = 5});
    start();
    auto const joined = await_event<AgentJoined>();
    await_event<RankStarted>(2);
    signal_process({.pid = joined.pid, .start_ticks = joined.start_ticks}, SIGSTOP);
    await_event<NodeLost>();
    release();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    EXPECT_EQ(events<NodeLost>().size(), 1u);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eFaults, OrphansOfWorkersAreKilled) {
    RunSpec spec;
    spec.steps = 5;
    spec.env = {{"OSORA_MOCK_LEAVE_CHILD", "1"}};
    EXPECT_EQ(run_to_end(spec), 0);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eFaults, ADamagedJournalIsRefusedAndKept) {
    EXPECT_EQ(run_to_end({.steps = 3}), 0);
    std::string content = *read_file(paths().journal());
    content[content.size() / 2] ^= 1;
    std::ofstream(paths().journal(), std::ios::binary | std::ios::trunc) << content;
    start();
    EXPECT_EQ(wait_for_exit(), 1);
    EXPECT_THAT(errors(), HasSubstr("journal"));
    EXPECT_EQ(*read_file(paths().journal()), content);
}

TEST_F(E2eFaults, MissingAndBrokenFilesAreNamed) {
    make_run({});
    std::ofstream(paths().submission(), std::ios::trunc) << "{\"run_uuid\": 3}";
    start();
    EXPECT_EQ(wait_for_exit(), 2);
    EXPECT_THAT(errors(), HasSubstr("submission.json: run_uuid: expected a string"));
    std::filesystem::remove(paths().submission());
    start();
    EXPECT_EQ(wait_for_exit(), 2);
    EXPECT_THAT(errors(), HasSubstr("submission.json: open: No such file"));
}

/// The run directory is on a separate small file system; checkpoints are elsewhere.
class E2eFullDisk : public Run {
protected:
    void make_small_disk_run(RunSpec const& spec) {
        mount_tmpfs(folder() / "disk", "size=1m");
        mount_tmpfs(folder() / "checkpoints", "size=16m");
        make_run(spec, "disk/run-0001");
        std::filesystem::create_directory_symlink(folder() / "checkpoints", paths().checkpoints());
        std::filesystem::create_symlink(folder() / "go", paths().dir / "go");  // for release()
    }
    void fill_disk() const {
        Descriptor const file(
            ::open((paths().dir / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        for (std::size_t size = 64 << 10; size > 0; size /= 2) {
            std::string const block(size, 'f');
            while (::write(file.get(), block.data(), size) > 0) {}
        }
    }
    void SetUp() override {
        Run::SetUp();
        if (::geteuid() != 0) GTEST_SKIP() << "needs root: a small tmpfs is mounted";
    }
    void TearDown() override {
        // Lazily: processes of a failed test are killed only after this.
        for (auto const& each : mounted_) ::umount2(each.c_str(), MNT_DETACH);
        Run::TearDown();
    }

private:
    void mount_tmpfs(std::filesystem::path const& path, char const* options) {
        std::filesystem::create_directories(path);
        ASSERT_EQ(::mount("osora-test", path.c_str(), "tmpfs", 0, options), 0);
        mounted_.push_back(path);
    }
    std::vector<std::filesystem::path> mounted_;
};

TEST_F(E2eFullDisk, TheRunContinuesWithoutMetrics) {
    RunSpec spec;
    spec.steps = 6000;  // more records of them than fit into the reserve
    spec.checkpoint_every = 100;
    spec.hold_at = 100;
    spec.env = {{"OSORA_MOCK_STEP_S", "0.0005"}};
    make_small_disk_run(spec);
    start();
    await_event<CheckpointCompleted>();
    fill_disk();
    release();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    // On a busy machine there may be notices of slow steps, too.
    auto const notices = events<RunNotice>();
    auto const lost = std::ranges::find(notices, "metrics_lost", &RunNotice::kind);
    ASSERT_NE(lost, notices.end());
    EXPECT_THAT(lost->detail, HasSubstr("No space left on device"));
    EXPECT_EQ(events<RunEnded>().at(0).verdict, Verdict::ok);
    EXPECT_EQ(last<CheckpointCompleted>().step, spec.steps);
}

TEST_F(E2eFullDisk, WithoutRoomForDecisionsTheRunEndsCleanly) {
    RunSpec spec;
    spec.steps = 1000000;
    spec.checkpoint_every = 1;
    spec.env = {{"OSORA_MOCK_STEP_S", "0"}};
    make_small_disk_run(spec);
    start();
    await_event<CheckpointCompleted>(3);
    fill_disk();
    EXPECT_EQ(wait_for_exit(), 1);
    auto const end = events<RunEnded>().at(0);
    EXPECT_EQ(end.cause, "journal: no space left on device");
    EXPECT_EQ(end.exit_code, 1);
    EXPECT_THAT(errors(), HasSubstr("No space left on device"));
    EXPECT_TRUE(std::filesystem::exists(last<CheckpointCompleted>().path) ||
                !std::filesystem::is_empty(folder() / "checkpoints"));
    EXPECT_TRUE(all_gone(0));
}

}  // namespace
}  // namespace osora::e2e
