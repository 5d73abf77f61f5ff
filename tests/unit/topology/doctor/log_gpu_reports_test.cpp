// What people reported of GPUs in NCCL's log; see log_reports_test.cpp.
#include "tests/unit/topology/doctor/log_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace osora::topology::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(GpuReports, ARankCannotSeeItsPeersGpu) {
    // NVIDIA/nccl issues 1948 (srun --gpus-per-task=1) and 1647 (a container a GPU)
    auto const found = finding_of(
        "[2025-12-18 10:00:00] g8:804053:804053 [0] transport/p2p.cc:275 NCCL WARN Cuda failure "
        "101 "
        "'invalid device ordinal'\n");
    EXPECT_EQ(found.rule, "peer-access");
    EXPECT_THAT(found.fix, HasSubstr("not --gpus-per-task"));
}

TEST(GpuReports, LibfabricCouldNotRegisterGpuMemory) {
    // awslabs/awsome-distributed-ai issue 203
    auto const found = finding_of(
        "p5-1:5:9 [4] register_rail_mr_buffer:617 NCCL WARN NET/OFI Unable to register memory "
        "(type "
        "= 2) for device 4. RC: -22, Error: Invalid argument\n");
    EXPECT_EQ(found.rule, "efa-blocked");
    EXPECT_THAT(found.fix, HasSubstr("FI_EFA_SET_CUDA_SYNC_MEMOPS=0"));
    auto const locked = finding_of(
        "p5-1:5:9 [4] register_mr_buffer:617 NCCL WARN NET/OFI Unable to register memory (type = "
        "1) for device 4. RC: -12, Error: Cannot allocate memory\n");
    EXPECT_THAT(locked.fix, HasSubstr("ulimit -l"));
    auto const of_host = finding_of(
        "p5-1:5:9 [4] register_mr_buffer:617 NCCL WARN NET/OFI Unable to register memory (type = "
        "1) for device 4. RC: -22, Error: Invalid argument\n",
        Severity::warning);
    EXPECT_EQ(of_host.rule, "nccl-warnings");
}

/// How a watchdog ends, in the form of modelscope/ms-swift issue 3264: it names no host.
std::string ended(int rank, std::string const& error) {
    return fmt::format(
        "[rank{0}]:[E225 13:49:33.9 ProcessGroupNCCL.cpp:1595] [PG ID 0 PG GUID 0(default_pg) Rank "
        "{0}] Process group watchdog thread terminated with exception: CUDA error: {1}\n",
        rank, error);
}

constexpr char const* kEcc = "uncorrectable ECC error encountered";

TEST(GpuReports, AWatchdogOfABrokenGpuIsOfItsRanksNode) {
    std::string text;
    for (int const rank : {0, 1}) {
        text += fmt::format(
            "n{0}:4711:4720 [0] NCCL INFO comm 0x5 rank {0} nranks 2 cudaDev 0 busId 36000 - Init "
            "COMPLETE\n",
            rank);
    }
    auto const list = faults_of({{"job.log", text + ended(0, kEcc)}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].nodes, ElementsAre("n0"));
    EXPECT_THAT(list[0].fix, HasSubstr("exclude its node (--set faults.exclude_nodes='[\"n0\"]'"));
    auto const named =
        faults_of({{"job.log", text + "n0:4711:4720 [0] enqueue.cc:1 NCCL WARN Cuda failure '" +
                                   kEcc + "'\n" + ended(0, kEcc)}});
    ASSERT_THAT(named, SizeIs(1));
    EXPECT_EQ(named[0].rule, "gpu-health");
    EXPECT_THAT(named[0].nodes, ElementsAre("n0"));
}

TEST(GpuReports, LogsOfOneNodeEachNameTheNodesOfRanks) {
    auto const list = faults_of({{"n0.log", ended(0, kEcc)},
                                 {"n1.log", ended(8, "an illegal memory access was encountered")}});
    ASSERT_THAT(list, SizeIs(2));
    EXPECT_THAT(list[0].nodes, ElementsAre("n0"));
    EXPECT_THAT(list[1].nodes, ElementsAre("n1"));
    auto const named = faults_of(
        {{"n3.log", ended(0, kEcc)},
         {"n3.dmesg.txt", "[ 9.1] NVRM: Xid (PCI:0000:3b:00): 95, pid=7, Uncontained\n"}});
    ASSERT_THAT(named, SizeIs(1));
    EXPECT_EQ(named[0].rule, "gpu-health");
}

}  // namespace
}  // namespace osora::topology::doctor
