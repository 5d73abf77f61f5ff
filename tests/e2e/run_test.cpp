// Runs without faults: to the end, on odd paths, with odd values, as `exec`, stopped by the user.
#include "base/files/files.hpp"
#include "base/text/text.hpp"
#include "protocol/messages/message.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <limits>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class E2eRun : public Run {};

TEST_F(E2eRun, TwoRanksTrainToTheEnd) {
    RunSpec spec;
    spec.env = {{"OSORA_MOCK_PRINT", "1"}};
    EXPECT_EQ(run_to_end(spec), 0) << errors();
    auto const ends = events<RunEnded>();
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].verdict, Verdict::ok);
    EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
    EXPECT_EQ(events<RankStarted>().size(), 2u);
    EXPECT_EQ(events<NodeFinished>().at(0).steps, 20);
    EXPECT_EQ(last<CheckpointCompleted>().step, 20);
    int steps = 0, samples = 0;
    for (auto const& each : events<MergedSteps>()) {
        EXPECT_EQ(each.step0, steps);
        steps += static_cast<int>(each.bucket.size());
        for (int const count : each.samples) samples += count;
    }
    EXPECT_EQ(steps, 20);
    EXPECT_EQ(samples, 40);
    ASSERT_EQ(events<RankMatrix>().size(), 1u);
    EXPECT_EQ(events<RankMatrix>()[0].steps, 20);
    EXPECT_EQ(events<RankMatrix>()[0].ranks, 2);
    EXPECT_TRUE(all_gone(0));
    EXPECT_FALSE(std::filesystem::exists(paths().control_socket()));
    for (int const rank : {0, 1}) {
        auto const text = read_file(paths().rank_log(0, rank));
        ASSERT_TRUE(text.has_value());
        EXPECT_THAT(*text, HasSubstr(fmt::format("rank {}: step 19\n", rank)));
        EXPECT_THAT(*text, HasSubstr("step 19 on stderr\n"));
    }
}

double milliseconds_to_first_worker(std::vector<JournalRecord> const& journal,
                                    std::chrono::system_clock::duration begin) {
    auto const begin_us = std::chrono::duration_cast<std::chrono::microseconds>(begin).count();
    for (auto const& record : journal) {
        if (!std::holds_alternative<RankStarted>(record.event)) continue;
        return static_cast<double>(record.wall_us - begin_us) / 1000;
    }
    return std::numeric_limits<double>::infinity();
}

TEST_F(E2eRun, TheTimeToTheFirstWorkerIsRecorded) {
    // The best of several: what the program needs, not what else the machine does. The limit is
    // that of bench/submit_latency.
    double best_ms = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 5; ++i) {
        make_run({.ranks = 1, .steps = 1}, fmt::format("run-{}", i));
        auto const begin = std::chrono::system_clock::now().time_since_epoch();
        start();
        EXPECT_EQ(wait_for_exit(), 0);
        best_ms = std::min(best_ms, milliseconds_to_first_worker(journal(), begin));
    }
    EXPECT_LT(best_ms, std::numeric_limits<double>::infinity()) << "no worker started";
    RecordProperty("first_worker_ms", fmt::format("{:.1f}", best_ms));
    fmt::print("osorad to the worker's first message: {:.1f} ms\n", best_ms);
}

TEST_F(E2eRun, TheHistoryHasTheRunAtItsEnd) {
    make_run({.steps = 5}, "state/runs/e2e-0001");
    start();
    EXPECT_EQ(wait_for_exit(), 0);
    auto const database = read_file(folder() / "state" / "history.db");
    ASSERT_TRUE(database.has_value());
    EXPECT_THAT(*database, HasSubstr("e2e-0001"));
    EXPECT_THAT(log(), Not(HasSubstr("history was not brought")));
}

TEST_F(E2eRun, ABrokenHistoryDoesNotHurtTheRun) {
    make_run({.steps = 5}, "state/runs/e2e-0001");
    std::string const garbage(8192, 'g');
    std::ofstream(folder() / "state" / "history.db") << garbage;
    start();
    EXPECT_EQ(wait_for_exit(), 0);
    EXPECT_THAT(log(), HasSubstr("cannot update history.db"));
    EXPECT_EQ(*read_file(folder() / "state" / "history.db"), garbage);
}

TEST_F(E2eRun, AFinishedRunIsNotRunAgain) {
    EXPECT_EQ(run_to_end({.steps = 3}), 0);
    auto const before = journal().size();
    start();
    EXPECT_EQ(wait_for_exit(), 0);
    EXPECT_EQ(journal().size(), before);
}

TEST_F(E2eRun, APathWithSpacesQuotesAndDollarsIsJustAPath) {
    make_run({.steps = 5}, "it's a \"run\" $HOME `id`;*");
    start();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    EXPECT_TRUE(std::filesystem::exists(paths().rank_log(0, 1)));
}

TEST_F(E2eRun, APathTooLongForASocketGetsOneElsewhere) {
    make_run({.steps = 100000}, std::string(120, 'x'));
    start();
    await_event<RankStarted>(2);
    EXPECT_TRUE(std::filesystem::exists(paths().control_path()));
    EXPECT_EQ(command(ControlPing{}).message, "running");
    EXPECT_TRUE(command(ControlStop{.now = true, .reason = "test"}).ok);
    EXPECT_EQ(wait_for_exit(), 130);
    EXPECT_FALSE(std::filesystem::exists(paths().control_path()));
}

// The folder of node profiles has other rules, and any user can create one of that name.
TEST_F(E2eRun, ASocketElsewhereHasItsOwnFolder) {
    auto const runtime = folder() / "rt";
    auto const profiles = runtime / ("osora-" + std::to_string(::geteuid()));
    std::filesystem::create_directories(profiles);
    std::filesystem::permissions(profiles, std::filesystem::perms(0755));
    set_variable(environment(), "XDG_RUNTIME_DIR", runtime.string());
    make_run({.steps = 100000}, std::string(120, 'x'));
    start();
    await_event<RankStarted>(2);
    std::filesystem::path const socket = trimmed(content_of(paths().control_path()));
    EXPECT_NE(socket.parent_path(), profiles);
    EXPECT_EQ(std::filesystem::status(socket.parent_path()).permissions(),
              std::filesystem::perms::owner_all);
    EXPECT_EQ(command(ControlPing{}).message, "running");
    kill_controller();
    start();
    await_event<ControllerStarted>(2);
    EXPECT_TRUE(eventually([&] { return command(ControlPing{}).ok; }));
    EXPECT_TRUE(command(ControlStop{.now = true, .reason = "test"}).ok);
    EXPECT_EQ(wait_for_exit(), 130);
    EXPECT_FALSE(std::filesystem::exists(socket.parent_path())) << "the killed one's";
}

TEST_F(E2eRun, ASocketThatACrashLeftIsReplaced) {
    make_run({.steps = 100000});
    std::ofstream(paths().control_socket()) << "stale";
    start();
    await_event<RankStarted>(2);
    EXPECT_TRUE(command(ControlPing{}).ok);
}

std::vector<std::string> environment_of(int pid) {
    std::vector<std::string> found;
    auto const text = read_file(fmt::format("/proc/{}/environ", pid));
    std::string const all = text.has_value() ? *text : "";
    for (std::size_t begin = 0; begin < all.size();) {
        auto const end = all.find('\0', begin);
        found.push_back(all.substr(begin, end - begin));
        begin = end == std::string::npos ? all.size() : end + 1;
    }
    return found;
}

TEST_F(E2eRun, EnvironmentTravelsAsExactBytes) {
    std::string const odd = "a\nb=\"c\" 'd' $e `f` \\ ; *,\t";
    std::string const large(64 << 10, 'z');
    RunSpec spec;
    spec.steps = 100000;
    spec.env = {{"ODD", odd}, {"LARGE", large}, {"EMPTY", ""}};
    make_run(spec);
    set_variable(environment(), "BYTES", "\xff\xfe\x01");
    set_variable(environment(), "NCCL_IB_HCA", "mlx5_0,mlx5_1");
    start();
    await_event<RankStarted>(2);
    for (auto const& started : events<RankStarted>()) {
        auto const seen = environment_of(started.pid);
        EXPECT_THAT(seen, Contains("ODD=" + odd));
        EXPECT_THAT(seen, Contains("LARGE=" + large));
        EXPECT_THAT(seen, Contains("EMPTY="));
        EXPECT_THAT(seen, Contains("BYTES=\xff\xfe\x01"));
        EXPECT_THAT(seen, Contains("NCCL_IB_HCA=mlx5_0,mlx5_1"));
        EXPECT_THAT(seen, Contains("NCCL_IB_TC=106"));
        EXPECT_THAT(seen, Contains("WORLD_SIZE=2"));
        EXPECT_THAT(seen, Contains(fmt::format("RANK={}", started.rank)));
        EXPECT_THAT(seen, Contains("OMP_NUM_THREADS=1"));
    }
}

TEST_F(E2eRun, StopOnceSavesACheckpointFirst) {
    make_run({.steps = 100000, .checkpoint_every = 0});
    start();
    await_steps(3);
    EXPECT_TRUE(command(ControlStop{.now = false, .reason = "Ctrl-C"}).ok);
    EXPECT_EQ(wait_for_exit(), 130);
    auto const end = events<RunEnded>().at(0);
    EXPECT_EQ(end.verdict, Verdict::cancelled);
    EXPECT_THAT(end.cause, HasSubstr("Ctrl-C"));
    EXPECT_GE(events<CheckpointCompleted>().at(0).step, 3);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eRun, StopTwiceStopsWorkersThatDoNotListen) {
    RunSpec spec;
    spec.steps = 100000;
    spec.env = {{"OSORA_MOCK_IGNORE_STOP", "1"}, {"OSORA_MOCK_IGNORE_TERM", "1"}};
    make_run(spec);
    start();
    await_steps(3);
    signal_controller(SIGINT);
    await_event<StopRequested>();
    EXPECT_EQ(command(ControlPing{}).message, "finishing");
    signal_controller(SIGINT);
    EXPECT_EQ(wait_for_exit(), 130);
    EXPECT_TRUE(last<StopRequested>().now);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eRun, TheEndOfTheAttachedOsoraStopsTheRun) {
    make_run({.steps = 100000, .checkpoint_every = 0});
    arguments() = {"--lifeline-limit", std::to_string(kPatience_s)};
    start(true);
    await_steps(3);
    cut_lifeline();
    EXPECT_EQ(wait_for_exit(), 130);
    EXPECT_THAT(events<RunEnded>().at(0).cause, HasSubstr("attached osora went away"));
    EXPECT_GE(events<CheckpointCompleted>().at(0).step, 3);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eRun, WorkersThatDoNotListenAreEndedAfterTheLifeline) {
    RunSpec spec;
    spec.steps = 100000;
    spec.env = {{"OSORA_MOCK_IGNORE_STOP", "1"}, {"OSORA_MOCK_IGNORE_TERM", "1"}};
    make_run(spec);
    start(true);
    await_steps(3);
    cut_lifeline();
    EXPECT_EQ(wait_for_exit(), 130);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eRun, ExecRunsAnyCommandWithTorchrunsVariables) {
    RunSpec spec;
    spec.job = "exec";
    spec.command = {"sh", "-c", "echo \"$1|$RANK/$WORLD_SIZE $MASTER_ADDR\"; pwd", "sh",
                    "a b\n\"c\" $d"};
    EXPECT_EQ(run_to_end(spec), 0) << errors();
    for (int const rank : {0, 1}) {
        EXPECT_EQ(*read_file(paths().rank_log(0, rank)),
                  fmt::format("a b\n\"c\" $d|{}/2 127.0.0.1\n{}\n", rank, folder().string()));
    }
}

TEST_F(E2eRun, ExecThatFailsIsAFailedRun) {
    RunSpec spec;
    spec.job = "exec";
    spec.max_restarts = 0;
    spec.command = {"sh", "-c", "exit 7"};
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_THAT(events<RunEnded>().at(0).cause, HasSubstr("exited with 7"));
}

TEST_F(E2eRun, ExitCode93IsPassedOn) {
    RunSpec spec;
    spec.job = "exec";
    spec.command = {"sh", "-c", "exit 93"};
    EXPECT_EQ(run_to_end(spec), 93);
}

TEST_F(E2eRun, ACommandThatIsNotThereIsNamed) {
    RunSpec spec;
    spec.job = "exec";
    spec.command = {"no-such-program-here"};
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_THAT(events<RunEnded>().at(0).cause, HasSubstr("no-such-program-here"));
}

TEST_F(E2eRun, AWorkerProgramThatIsNotThereIsNamed) {
    make_run({});
    set_variable(environment(), "OSORA_WORKER", "/nonexistent/osora-worker");
    start();
    EXPECT_EQ(wait_for_exit(), 1);
    EXPECT_THAT(events<RunEnded>().at(0).cause, HasSubstr("/nonexistent/osora-worker"));
}

}  // namespace
}  // namespace osora::e2e
