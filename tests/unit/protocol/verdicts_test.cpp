#include "protocol/verdicts.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace osora::protocol {
namespace {

RankFailed exited(int code) {
    RankFailed failed;
    failed.node = 1;
    failed.rank = 3;
    failed.exit_code = code;
    return failed;
}
RankFailed killed(int signal) {
    RankFailed failed = exited(0);
    failed.signal = signal;
    return failed;
}

// The table of docs/contract.md section 4 and docs/rfc/001.
TEST(Verdicts, EveryExitCodeOfAWorker) {
    EXPECT_EQ(classify_failure(exited(0), false), (FailureClass{Verdict::app_bug, false}));
    EXPECT_EQ(classify_failure(exited(1), false), (FailureClass{Verdict::app_bug, false}));
    EXPECT_EQ(classify_failure(exited(10), false), (FailureClass{Verdict::comm, true, true}));
    EXPECT_EQ(classify_failure(exited(11), false), (FailureClass{Verdict::oom, false}));
    EXPECT_EQ(classify_failure(exited(12), false), (FailureClass{Verdict::oom, false}));
    EXPECT_EQ(classify_failure(exited(13), false), (FailureClass{Verdict::data, false}));
    EXPECT_EQ(classify_failure(exited(14), false), (FailureClass{Verdict::app_bug, false}));
    EXPECT_EQ(classify_failure(exited(15), false), (FailureClass{Verdict::app_bug, false}));
    EXPECT_TRUE(classify_failure(exited(16), false).retry);
    EXPECT_EQ(classify_failure(exited(17), false), (FailureClass{Verdict::app_bug, true}));
    EXPECT_EQ(exit_code_of(classify_failure(exited(93), false)), 93);
    EXPECT_FALSE(classify_failure(exited(93), false).retry);
}

TEST(Verdicts, SignalsAreTriedAgainAndOutOfMemoryIsNot) {
    EXPECT_EQ(classify_failure(killed(SIGKILL), false), (FailureClass{Verdict::node_fault, true}));
    EXPECT_EQ(classify_failure(killed(SIGTERM), false), (FailureClass{Verdict::node_fault, true}));
    EXPECT_EQ(classify_failure(killed(SIGSEGV), false), (FailureClass{Verdict::app_bug, true}));
    RankFailed hungry = killed(SIGKILL);
    hungry.oom_killed = true;
    EXPECT_EQ(classify_failure(hungry, false), (FailureClass{Verdict::oom, false}));
    EXPECT_EQ(describe(hungry, false), "rank 3 on node 1 was killed by the kernel: out of memory");
}

TEST(Verdicts, CodesOfAUserProgramHaveNoMeaning) {
    for (int code : {1, 2, 10, 12, 13, 14, 255}) {
        EXPECT_TRUE(classify_failure(exited(code), true).retry) << code;
    }
    EXPECT_FALSE(classify_failure(exited(127), true).retry);
    EXPECT_EQ(exit_code_of(classify_failure(exited(93), true)), 93);
}

TEST(Verdicts, LastLinesOfAProgramTellTheCauseFromASecondaryFailure) {
    auto const said = [](char const* words) {
        RankFailed failed = exited(1);
        failed.message = words;
        return classify_failure(failed, true);
    };
    EXPECT_FALSE(said("ValueError: 3 is not 4").secondary);
    EXPECT_TRUE(said("").secondary);
    EXPECT_TRUE(
        said("RuntimeError: [gloo/transport/tcp/pair.cc] Connection closed by peer").secondary);
    EXPECT_TRUE(said("OSError: [Errno 98] Address already in use").costs_no_restart);
    EXPECT_TRUE(
        said("server socket failed: EADDRINUSE, message: address already in use").costs_no_restart);
    EXPECT_FALSE(said("ValueError").costs_no_restart);
}

// NVIDIA/nccl 1232 and 795, pytorch/pytorch pull request 153586.
TEST(Verdicts, NcclAndTheStoreSayInSeveralWordsThatAPeerIsLost) {
    auto const said = [](RankFailed failed, char const* words) {
        failed.message = words;
        return classify_failure(failed, true);
    };
    for (char const* words :
         {"socketProgress: Connection closed by remote peer n2<42830>",
          "ncclRemoteError: A call failed possibly due to a network error or a remote process "
          "exiting prematurely.",
          "torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
          "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely "
          "closed. Did the remote server shutdown or crash?"}) {
        EXPECT_TRUE(said(exited(1), words).secondary) << words;
        EXPECT_TRUE(said(killed(SIGABRT), words).secondary) << "NCCL's watchdog aborts: " << words;
        EXPECT_FALSE(said(killed(SIGSEGV), words).secondary) << words;
    }
    EXPECT_FALSE(said(killed(SIGABRT), "what(): basic_string::at").secondary);
}

TEST(Verdicts, HardwareOfAGpuIsAFaultOfTheNode) {
    FailureClass const of_node{.verdict = Verdict::node_fault, .retry = true, .blames_host = true};
    auto const ecc = [](RankFailed failed) {
        failed.message = "step 3: CUDA error: uncorrectable ECC error encountered";
        return failed;
    };
    for (int const code : {10, 15, 17}) {
        EXPECT_EQ(classify_failure(ecc(exited(code)), false), of_node) << code;
    }
    EXPECT_EQ(classify_failure(ecc(killed(SIGABRT)), false), of_node) << "std::terminate";
    EXPECT_EQ(classify_failure(ecc(killed(SIGABRT)), true), of_node);
    EXPECT_EQ(classify_failure(ecc(exited(1)), true), of_node);
    EXPECT_FALSE(classify_failure(ecc(killed(SIGKILL)), false).blames_host);
    EXPECT_FALSE(classify_failure(ecc(exited(93)), true).retry);
    EXPECT_FALSE(classify_failure(ecc(exited(13)), false).retry);
    EXPECT_EQ(describe(ecc(exited(17)), false),
              "rank 3 on node 1 exited with 17 (its GPU failed): step 3: CUDA error: uncorrectable "
              "ECC error encountered");
}

TEST(Verdicts, CausesAreSentences) {
    EXPECT_EQ(describe(killed(9), false), "rank 3 on node 1 was killed by signal 9");
    RankFailed hungry = killed(9);
    hungry.oom_killed = true;
    EXPECT_EQ(describe(hungry, true), "rank 3 on node 1 was killed by the kernel: out of memory");
    RankFailed starved = exited(1);
    starved.oom_killed = true;
    starved.message = "DataLoader worker (pid 9) is killed by signal: Killed.";
    EXPECT_EQ(describe(starved, true),
              "rank 3 on node 1 exited with 1: the kernel killed a process of it, out of memory: "
              "DataLoader worker (pid 9) is killed by signal: Killed.");
    RankFailed failed = exited(13);
    failed.message = "manifest clips.csv: empty";
    EXPECT_EQ(describe(failed, false),
              "rank 3 on node 1 exited with 13 (data): manifest clips.csv: empty");
    EXPECT_EQ(describe(exited(13), true), "rank 3 on node 1 exited with 13");
    EXPECT_EQ(describe(exited(0), false), "rank 3 on node 1 exited before it had finished");
    EXPECT_EQ(describe(NodeLost{0, 4.23, std::string(kFellSilent)}),
              "node 0 fell silent for 4.2 s");
    EXPECT_EQ(describe(NodeLost{0, 0, "agent was killed by signal 9"}),
              "node 0 was lost: agent was killed by signal 9");
    EXPECT_EQ(describe(HangDetected{2, 1, 5, Phase::first_step, 301}),
              "rank 5 on node 1 made no progress for 301 s in phase 'first_step'");
}

TEST(Verdicts, ExitCodesOfOsora) {
    EXPECT_EQ(exit_code_of({Verdict::ok}), 0);
    EXPECT_EQ(exit_code_of({Verdict::cancelled}), 130);
    EXPECT_EQ(exit_code_of({Verdict::internal}), 5);
    for (Verdict each : {Verdict::app_bug, Verdict::oom, Verdict::data, Verdict::comm,
                         Verdict::node_fault, Verdict::no_progress}) {
        EXPECT_EQ(exit_code_of({each}), 1);
    }
}

}  // namespace
}  // namespace osora::protocol
