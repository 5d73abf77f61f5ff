// How runs fail, in the words of NCCL and of PyTorch's watchdogs, without any file of the machines.
// Lines are those of the reports that each test names, with other hosts and addresses.
#include "tests/unit/topology/doctor/log_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace osora::topology::doctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// PyTorch 2.5: hiyouga/LlamaFactory issues 6269 and 7396, XPixelGroup/BasicSR issue 737.
std::string timed_out(int rank, int number,
                      std::string const& call = "ALLREDUCE, NumelIn=9801523") {
    return fmt::format(
        "[rank{0}]:[E626 06:24:44.90388191{0} ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum={1}, OpType={2}, NumelOut=9801523, "
        "Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n",
        rank, number, call);
}

std::string progress(int rank, int at, int enqueued, int completed) {
    return fmt::format(
        "[rank{0}]:[E626 06:24:44.90645762{0} ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID "
        "0(default_pg) Rank {0}] Exception (either an error or timeout) detected by watchdog at "
        "work: {1}, last enqueued NCCL work: {2}, last completed NCCL work: {3}.\n",
        rank, at, enqueued, completed);
}

/// What a rank that did not wait writes when the others ask for its state.
std::string dump(int rank, int enqueued, int completed) {
    return fmt::format(
        "[rank{0}]:[E626 06:24:45.10645762{0} ProcessGroupNCCL.cpp:1484] [PG ID 0 PG GUID "
        "0(default_pg) Rank {0}] Received a dump signal due to a collective timeout from rank 0 "
        "and "
        "we will try our best to dump the debug info. Last enqueued NCCL work: {1}, last completed "
        "NCCL work: {2}.This is most likely caused by incorrect usages of collectives\n",
        rank, enqueued, completed);
}

Finding only_fault_of(LogFiles const& files) {
    auto const list = faults_of(files);
    EXPECT_THAT(list, SizeIs(1));
    return list.empty() ? Finding{} : list.front();
}

TEST(Watchdog, NamesTheRankThatNeverCalledTheCollective) {
    std::string text;
    for (int const rank : {0, 1, 2}) text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    auto const found = only_fault_of({{"job.log", text + dump(3, 807, 807)}});
    EXPECT_EQ(found.rule, "collective-timeout");
    EXPECT_EQ(found.title, "Collective 808 (ALLREDUCE) timed out on ranks 0-2");
    EXPECT_EQ(found.seen, "after 600 s in process group 0(default_pg); rank 3 never called it");
    EXPECT_THAT(found.fix, HasSubstr("rank 3"));
}

TEST(Watchdog, NamesTheRankThatWroteNothing) {
    std::string text;
    for (int const rank : {0, 1, 3}) text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    EXPECT_THAT(only_fault_of({{"job.log", text}}).seen, HasSubstr("rank 2 wrote nothing"));
}

TEST(Watchdog, ARankBehindTheOthersWithoutAnErrorOfItsProgramHasABrokenDevice) {
    std::string text = timed_out(1, 807) + progress(1, 807, 811, 806);
    for (int const rank : {0, 2, 3}) text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    auto const found = only_fault_of({{"job.log", text}});
    EXPECT_THAT(found.seen, HasSubstr("rank 1 did not finish an earlier one"));
    EXPECT_THAT(found.fix, HasSubstr("dmesg"));
}

TEST(Watchdog, RanksThatCalledDifferentCollectivesAreCompared) {
    auto const found = only_fault_of({{"job.log", timed_out(0, 4) + timed_out(1, 4) +
                                                      timed_out(2, 4, "BROADCAST, NumelIn=112")}});
    EXPECT_THAT(found.seen,
                HasSubstr("ALLREDUCE of 9801523 on ranks 0-1; BROADCAST of 112 on rank 2"));
}

TEST(Watchdog, WhoeverIsNotBehindIsNotBlamed) {
    std::string text;
    for (int const rank : {0, 1, 2, 3})
        text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    auto const found = only_fault_of({{"job.log", text}});
    EXPECT_THAT(found.seen, HasSubstr("every rank that wrote is in it"));
    EXPECT_THAT(found.nodes, IsEmpty());
    EXPECT_EQ(found.where, "all");
}

TEST(Watchdog, LinesOfALogThatWasCutAreCompared) {
    auto const found = only_fault_of(
        {{"job.log", timed_out(0, 808) + timed_out(1, 808) + progress(2, 807, 807, 806)}});
    EXPECT_EQ(found.title, "Collective 808 (ALLREDUCE) timed out on ranks 0-2");
    EXPECT_THAT(found.seen, HasSubstr("rank 2 did not finish an earlier one"));
}

TEST(Watchdog, TheNodeOfTheLateRankComesFromNcclsLines) {
    std::string text;
    for (int const rank : {0, 1, 2, 3}) {
        text += fmt::format(
            "n{}:4711:472{} [0] NCCL INFO comm 0x5 rank {} nranks 4 cudaDev 0 busId 36000 - Init "
            "COMPLETE\n",
            rank / 2 + 1, rank, rank);
    }
    for (int const rank : {0, 1, 3}) text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    EXPECT_THAT(only_fault_of({{"slurm-17.out", text + dump(2, 807, 807)}}).nodes,
                ElementsAre("n2"));
}

TEST(Watchdog, ALogForEachNodeNamesItsNode) {
    auto const found = only_fault_of(
        {{"gpu-1.log", timed_out(0, 808) + progress(0, 808, 811, 807)},
         {"gpu-2.log", dump(1, 807, 807) + timed_out(2, 808) + progress(2, 808, 811, 807)}});
    EXPECT_THAT(found.nodes, ElementsAre("gpu-2"));
}

/// As NCCL on the host of `rank` says it, two ranks a node.
std::string member(int rank, int rank_in_group, int group_size) {
    return fmt::format(
        "n{}:4711:472{} [0] NCCL INFO comm 0x5 rank {} nranks {} cudaDev 0 busId 36000 - Init "
        "COMPLETE\n",
        rank / 2 + 1, rank, rank_in_group, group_size);
}

TEST(Watchdog, LinesOfARankAmongThoseOfSeveralHostsAreOfOneRank) {
    auto const found =
        only_fault_of({{"slurm-17.out", member(0, 0, 4) + timed_out(0, 808) + member(2, 2, 4) +
                                            progress(0, 808, 811, 807) + dump(2, 807, 807)}});
    EXPECT_THAT(found.seen, HasSubstr("rank 2 never called it"));
    EXPECT_THAT(found.nodes, ElementsAre("n2"));
}

TEST(Watchdog, CommunicatorsOfGroupsSayNoNode) {
    std::string text;  // 0 and 2 are a group, and 1 and 3: rank 1 of both is on n2
    for (int const rank : {0, 1, 2, 3}) text += member(rank, rank / 2, 2);
    for (int const rank : {0, 2, 3}) text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    auto const found = only_fault_of({{"slurm-17.out", text + dump(1, 807, 807)}});
    EXPECT_THAT(found.seen, HasSubstr("rank 1 never called it"));
    EXPECT_THAT(found.nodes, IsEmpty());
}

TEST(Watchdog, RanksWhoseLogIsNotHereAreNotBlamed) {
    std::string text;
    for (int const rank : {2, 3, 4}) text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    EXPECT_THAT(only_fault_of({{"job.log", text}}).seen, HasSubstr("every rank that wrote"));
}

TEST(Watchdog, RanksOutsideOfTheGroupAreNotBlamed) {
    std::string text;
    for (int const rank : {0, 2, 4}) {
        text += timed_out(rank, 12) +
                fmt::format(
                    "[rank{}]:[E626 06:24:44.906457620 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID "
                    "9(mesh_dp) Rank {}] Exception (either an error or timeout) detected by "
                    "watchdog at work: 12, last enqueued NCCL work: 12, last completed NCCL work: "
                    "11.\n",
                    rank, rank / 2);
    }
    EXPECT_THAT(only_fault_of({{"job.log", text}}).seen, HasSubstr("every rank that wrote"));
}

TEST(Watchdog, WordsOfOlderVersions) {
    // pytorch/pytorch issue 118369 (2.0), vllm-project/vllm issue 5484 (2.3, behind Ray's prefix).
    auto const old = only_fault_of(
        {{"job.log",
          "[E ProcessGroupNCCL.cpp:458] [Rank 7] Watchdog caught collective operation timeout: "
          "WorkNCCL(SeqNum=64088, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 25625251 "
          "milliseconds before timing out.\n"}});
    EXPECT_EQ(old.title, "Collective 64088 (ALLREDUCE) timed out on rank 7");
    EXPECT_THAT(old.seen, HasSubstr("after 25625 s"));
    auto const ray = only_fault_of(
        {{"job.log",
          "(RayWorkerWrapper pid=4009) [rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog "
          "caught "
          "collective operation timeout: WorkNCCL(SeqNum=158046, OpType=GATHER, NumelIn=2867200, "
          "NumelOut=0, Timeout(ms)=600000) ran for 600027 milliseconds before timing out.\n"
          "(RayWorkerWrapper pid=4009) [rank1]:[E ProcessGroupNCCL.cpp:1537] [PG 1 Rank 1] Timeout "
          "at NCCL work: 158046, last enqueued NCCL work: 158046, last completed NCCL work: "
          "158045.\n"
          "(RayWorkerWrapper pid=4008) [rank0]:[E ProcessGroupNCCL.cpp:1537] [PG 1 Rank 0] Last "
          "enqueued NCCL work: 158040, last completed NCCL work: 158040.\n"}});
    EXPECT_THAT(ray.seen, AllOf(HasSubstr("rank 0 never called it"),
                                HasSubstr("group 1, if they are all in one")));
}

TEST(Watchdog, AnotherGroupsTimeoutsDoNotMakeARankLate) {
    // NVIDIA/nccl issue 1730 (2.7): each group counts its own collectives.
    std::string text;
    for (int const rank : {0, 1, 2}) text += timed_out(rank, 808) + progress(rank, 808, 811, 807);
    text +=
        "[rank3]:[E603 17:48:01.005538748 ProcessGroupNCCL.cpp:2268] [PG ID 1 PG GUID 3 Rank 1]  "
        "failure detected by watchdog at work sequence id: 12 PG status: last enqueued work: 12, "
        "last completed work: 11\n";
    EXPECT_THAT(only_fault_of({{"job.log", text}}).seen, Not(HasSubstr("rank 3")));
}

struct Alone {
    char const* line;
    char const* rule;
    char const* says;
    Severity severity = Severity::fault;
};

/// Each line alone, as the only thing that is known of a node.
class OneLine : public ::testing::TestWithParam<Alone> {};

TEST_P(OneLine, IsNeverWithoutAFinding) {
    auto const diagnosis =
        diagnosis_of({{"job.log", fmt::format("n3:4711:4720 [0] {}\n", GetParam().line)}});
    ASSERT_THAT(diagnosis.findings, SizeIs(1)) << GetParam().line;
    auto const& found = diagnosis.findings.front();
    EXPECT_EQ(found.rule, GetParam().rule);
    EXPECT_EQ(found.severity, GetParam().severity);
    EXPECT_EQ(found.where, "n3");
    EXPECT_THAT(found.title, HasSubstr(GetParam().says));
    EXPECT_THAT(found.seen, HasSubstr("NCCL WARN"));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, OneLine,
    testing::Values(
        // verl-project/verl issue 161, horovod/horovod issue 3929
        Alone{
            "init.cc:497 NCCL WARN Duplicate GPU detected : rank 2 and rank 0 both on CUDA device "
            "1000",
            "gpu-use", "Two ranks use one GPU"},
        Alone{"enqueue.cc:1405 NCCL WARN Cuda failure 2 'out of memory'", "gpu-use", "no memory"},
        // tensorflow/tensorflow issue 34375
        Alone{"transport/net_ib.cc:811 NCCL WARN NET/IB : collective mismatch error, local size 4 "
              "remote size 8",
              "collective-timeout", "different collectives"},
        // NVIDIA/nccl issues 523 and 214; ibv_poll_cq(3)
        Alone{
            "transport/net_ib.cu:788 NCCL WARN NET/IB : Got completion with error 4, opcode 0, len "
            "32694, vendor err 81",
            "link-errors", "local protection error (status 4)"},
        Alone{"ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<5> with "
              "status=IBV_WC_REM_ACCESS_ERR(10) opcode=IBV_WC_SEND(0)",
              "link-errors", "remote access error (status 10)"},
        Alone{"ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<5> with "
              "status=IBV_WC_RNR_RETRY_EXC_ERR(13) opcode=IBV_WC_SEND(0)",
              "link-errors", "receiver not ready (status 13)"},
        Alone{"ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<5> with "
              "status=7 opcode=0",
              "link-errors", "failed (status 7)"},
        // NVIDIA/nccl issue 1737
        Alone{
            "ib_plugin.c:1007 NCCL WARN NET/IB : Got completion from peer 10.0.0.3<548> with error "
            "5, opcode 0, len 0, vendor err 249",
            "link-errors", "had failed", Severity::warning},
        Alone{"init.cc:1 NCCL WARN Cuda failure 'CUDA driver version is insufficient for CUDA "
              "runtime version'",
              "mixed-versions", "do not fit together"},
        Alone{"transport/nvls.cc:91 NCCL WARN Cuda failure 801", "nvls", "NVLS"},
        // NVIDIA/nccl issue 1129: no rule knows the cause, so the warning is repeated
        Alone{"misc/ibvwrap.cc:280 NCCL WARN Call to ibv_create_qp failed", "nccl-warnings",
              "NCCL warned: Call to ibv_create_qp failed", Severity::warning}),
    [](auto const& info) { return fmt::format("line{}", info.index); });

TEST(OneLine, APlugInThatWasAskedForIsMissed) {
    auto const found = only_fault_of(
        {{"job.log",
          "n3:1:2 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net-aws-ofi.so.\n"}});
    EXPECT_EQ(found.rule, "tcp-instead-of-rdma");
}

TEST(Warnings, FollowAFailureThatIsKnown) {
    auto const diagnosis =
        diagnosis_of({{"job.log",
                       "n1:1:2 [0] init.cc:497 NCCL WARN Duplicate GPU detected : rank 2 and rank "
                       "0 both on CUDA "
                       "device 1000\n"
                       "n1:1:2 [0] init.cc:900 NCCL WARN Something else broke 7 times\n"}});
    EXPECT_THAT(faults(diagnosis), SizeIs(1));
    EXPECT_EQ(diagnosis.count(Severity::warning), 0);
    EXPECT_EQ(diagnosis.findings.back().title, "NCCL warned: Something else broke");
}

TEST(Warnings, ThousandsOfOneKindAreOne) {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        text += fmt::format("n1:1:2 [{}] init.cc:9 NCCL WARN Something {} broke on device {}\n",
                            i % 8, i, i * 3);
    }
    auto const diagnosis = diagnosis_of({{"job.log", text}});
    ASSERT_THAT(diagnosis.findings, SizeIs(1));
    EXPECT_THAT(diagnosis.findings[0].seen, HasSubstr("Something 0 broke on device 0"));
}

TEST(Interfaces, AContainersOwnEndOfAPairIsItsWayOut) {
    // NVIDIA/nccl issue 529: the way out is veth0; what failed was ip6tnl0's link-local address.
    std::string const text =
        "p1:97:221 [0] NCCL INFO Bootstrap : Using [0]ip6tnl0:fe80::e866:19ff:fe1e:a688%ip6tnl0<0> "
        "[1]veth0:2a02:6b8:fc1d:3606:0:4457:edef:600a<0>\n"
        "p2:84:206 [0] NCCL INFO Bootstrap : Using [0]ip6tnl0:fe80::e866:19ff:fe1e:a699%ip6tnl0<0> "
        "[1]veth0:2a02:6b8:fc1d:3606:0:4457:edef:600b<0>\n";
    auto const found = only_fault_of({{"job.log", text}});
    EXPECT_THAT(found.title, HasSubstr("NCCL took ip6tnl0: it is a tunnel"));
    EXPECT_EQ(found.fix, "--set nccl.NCCL_SOCKET_IFNAME=\"=veth0\"");
}

}  // namespace
}  // namespace osora::topology::doctor
