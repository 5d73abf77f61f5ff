// What people reported of logs: each test names the thread; hosts, addresses and times are others.
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

/// The only finding of one log; `severity` is checked.
Finding finding_of(std::string const& text, Severity severity = Severity::fault) {
    auto const diagnosis = diagnosis_of({{"job.log", text}});
    EXPECT_THAT(diagnosis.findings, SizeIs(1)) << text;
    if (diagnosis.findings.empty()) return {};
    EXPECT_EQ(diagnosis.findings.front().severity, severity);
    return diagnosis.findings.front();
}

TEST(Reports, AGpuThatFellOffTheBusWithoutAnXid) {
    // leptonai/gpud pull request 1209, NVIDIA/NVSentinel issue 155
    auto const found = finding_of(
        "Feb 14 05:03:41 gpu-7 kernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE\n"
        "Feb 14 05:03:42 gpu-7 kernel: NVRM: The NVIDIA GPU 0000:b3:00.0\n"
        "                               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
        "                               NVRM: fallen off the bus and is not responding to "
        "commands.\n");
    EXPECT_THAT(found.nodes, ElementsAre("gpu-7"));
    EXPECT_EQ(found.title, "The GPU at 0000:b3:00 has reported a fatal Xid");
    EXPECT_THAT(found.seen, HasSubstr("Xid 79 (it has fallen off the bus)"));
}

TEST(Reports, AnNvlinkErrorIsFatalWhereTheDriverSaysSo) {
    // leptonai/gpud pull request 1174
    auto const fatal = finding_of(
        "Feb 14 05:03:42 gpu-7 kernel: NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 "
        "(0x000fe406 0x00000000)\n");
    EXPECT_THAT(fatal.seen, HasSubstr("Xid 149 (NVLink error); Xid 149, NETIR Fatal"));
    auto const other = finding_of(
        "Feb 14 05:03:42 gpu-7 kernel: NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 "
        "Link 13 (0x0409a0c2 0x00000008)\n",
        Severity::info);
    EXPECT_EQ(other.seen, "Xid 145 (NVLink error)");
}

TEST(Reports, AChannelThatAnNvlinkErrorEndedIsNotTheProgramsFault) {
    // NVIDIA/open-gpu-kernel-modules issue 1150
    auto const found = finding_of(
        "May 18 10:00:00 gpu-7 kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, "
        "Ch 00000001 caused by previous Xid 149\n");
    EXPECT_THAT(found.seen, HasSubstr("Xid 149 (NVLink error), 45"));
}

TEST(Reports, TcpHasNoGpuDirect) {
    // NVIDIA/nccl issue 1519, huggingface/accelerate issue 2183
    for (char const* const net : {"FastSocket", "Socket"}) {
        std::string text;
        for (int const rank : {0, 1}) {
            std::string const head = fmt::format("h{}:13878:13953 [0] NCCL INFO ", rank);
            text += head + "NET/" + net + " : GPU Direct RDMA Disabled for HCA 0 'eth0'\n";
            text += head + "Using network " + net + "\n";
            text += head + "Channel 00/0 : 0[0] -> 1[0] [send] via NET/" + net + "/0\n";
        }
        auto const evidence = evidence_of({{"job.log", text}});
        EXPECT_THAT(diagnose(evidence).findings, IsEmpty()) << net;
        ASSERT_THAT(evidence.nodes, SizeIs(2));
        EXPECT_EQ(evidence.nodes[0].log.via_socket, 1);
        EXPECT_EQ(evidence.nodes[0].log.via_ib, 0);
    }
}

/// A node's log with RCCL's version in the form of ROCm 6.2 or, `since_6_3`, of later ones.
std::string rccl_log(int node, std::string const& version, bool since_6_3) {
    std::string const host = fmt::format("g{}:188802:188813 [0] NCCL INFO ", node);
    std::string const line = since_6_3
                                 ? fmt::format(
                                       "RCCL version : {}-HEAD:9a0e6a1\nHIP version  : "
                                       "6.3.42134-a9a80e791\n",
                                       version)
                                 : fmt::format("RCCL version {}+hip6.2 HEAD:d380693+\n", version);
    return fmt::format("{0}Bootstrap : Using eth0:100.64.47.7{1}<0>\n{2}{0}Using network Socket\n",
                       host, node, line);
}

TEST(Reports, NodesWithDifferentRccl) {
    // The lines: ROCm/rccl issue 1728, ROCm/rccl-tests issue 163
    for (bool const since_6_3 : {false, true}) {
        auto const list = faults_of({{"g1.log", rccl_log(1, "2.20.5", since_6_3)},
                                     {"g2.log", rccl_log(2, "2.18.6", since_6_3)},
                                     {"g3.log", rccl_log(3, "2.20.5", since_6_3)}});
        ASSERT_THAT(list, SizeIs(1)) << since_6_3;
        EXPECT_THAT(list[0].nodes, ElementsAre("g2"));
        EXPECT_EQ(list[0].title, "RCCL 2.18.6, most nodes have 2.20.5");
    }
    auto const mixed =
        faults_of({{"g1.log", rccl_log(1, "2.20.5", false) + rccl_log(1, "2.18.6", false)}});
    ASSERT_THAT(mixed, SizeIs(1));
    EXPECT_EQ(mixed[0].title, "Ranks of a node run different RCCLs");
}

TEST(Reports, ErrorsOfTheHardwareThatCudaMet) {
    // pytorch/pytorch issue 58155; marin-community/marin issue 8934
    for (char const* const words : {"uncorrectable NVLink error detected during the execution",
                                    "uncorrectable ECC error encountered",
                                    "Invalid access of peer GPU memory over nvlink or a hardware "
                                    "error"}) {
        auto const found = finding_of(
            fmt::format("n3:124031:124053 [2] enqueue.cc:1 NCCL WARN Cuda failure '{}'\n", words));
        EXPECT_EQ(found.rule, "gpu-health");
        EXPECT_THAT(found.title, HasSubstr("is broken"));
        EXPECT_THAT(found.fix, HasSubstr("n3"));
    }
}

TEST(Reports, TheKernelsLogNamesTheBrokenGpu) {
    auto const list = faults_of(
        {{"n3.log",
          "n3:124031:124053 [2] enqueue.cc:1 NCCL WARN Cuda failure 'uncorrectable NVLink error "
          "detected during the execution'\n"},
         {"n3.dmesg.txt", "[ 9.1] NVRM: Xid (PCI:0000:3b:00): 74, NVLink: fatal error\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].title, HasSubstr("0000:3b:00"));
}

TEST(Reports, FabricManagerDoesNotRun) {
    // pytorch/pytorch issue 35710, gpustack/gpustack issue 4154
    auto const found = finding_of(
        "n5:100:100 [0] misc/cudawrap.cc:182 NCCL WARN Cuda failure 802 'system not yet "
        "initialized'\n");
    EXPECT_THAT(found.title, HasSubstr("error 802"));
    EXPECT_THAT(found.fix, HasSubstr("nvidia-fabricmanager"));
}

}  // namespace
}  // namespace osora::topology::doctor
