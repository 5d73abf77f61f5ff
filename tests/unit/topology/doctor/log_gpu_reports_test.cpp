// What people reported of GPUs in NCCL's log; see log_reports_test.cpp.
#include "tests/unit/topology/doctor/log_files.hpp"

#include <gmock/gmock.h>

namespace osora::topology::doctor {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace osora::topology::doctor
