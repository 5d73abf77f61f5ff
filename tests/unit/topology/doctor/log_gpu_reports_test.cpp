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

}  // namespace
}  // namespace osora::topology::doctor
