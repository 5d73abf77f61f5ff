// Advice on two of each recorded machine: the compute cards of a DGX A100 and an HGX H100 as NVIDIA
// names them (DGX A100 guide: mlx5_0-3 and 6-9 compute, 4 and 5 storage), a bond, a virtual
// machine.
#include "plan/nccl/nccl_advice.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/sources/read_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

std::map<std::string, std::string> advised(std::string const& tree, NcclAdvice& advice) {
    AdviceInputs inputs;
    inputs.nodes = 2;
    auto const recorded = tests::RecordedTree::named(tree);
    for (char const* name : {"n0", "n1"}) {
        inputs.machines.push_back(topology::read_machine(recorded.root(), name));
    }
    advice = advise_nccl(inputs);
    std::map<std::string, std::string> values;
    for (auto const& each : advice.settings) {
        if (!each.preflight) values[each.name] = each.value;
        EXPECT_TRUE(each.nodes.empty()) << each.name << ": the nodes are equal";
    }
    return values;
}

TEST(RecordedMachines, ComputeCardsOfADgxA100) {
    NcclAdvice advice;
    auto values = advised("dgx_a100", advice);
    EXPECT_EQ(values["NCCL_IB_HCA"], "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_6,mlx5_7,mlx5_8,mlx5_9");
    EXPECT_EQ(values["NCCL_SOCKET_IFNAME"], "=enp97s0f1") << "not InfiniBand without an address";
    EXPECT_TRUE(advice.warnings.empty());
}

TEST(RecordedMachines, ComputeCardsOfAnHgxH100) {
    NcclAdvice advice;
    auto values = advised("hgx_h100", advice);
    EXPECT_EQ(values["NCCL_IB_HCA"], "=mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8");
    EXPECT_EQ(values["NCCL_SOCKET_IFNAME"], "=enp101s0np0");
}

TEST(RecordedMachines, OthersHaveTheirOwn) {
    NcclAdvice advice;
    EXPECT_EQ(advised("cpu_server", advice)["GLOO_SOCKET_IFNAME"], "bond0");
    auto values = advised("pcie_3090", advice);
    EXPECT_EQ(values["NCCL_SOCKET_IFNAME"], "=eno1");
    EXPECT_FALSE(values.contains("NCCL_IB_HCA"));
    values = advised("cloud_vm", advice);
    EXPECT_FALSE(values.contains("NCCL_TUNER_PLUGIN")) << "EFA's plug-in brings one";
    EXPECT_THAT(advice.warnings, testing::Contains(testing::HasSubstr("NCCL_TOPO_FILE")));
}

}  // namespace
}  // namespace osora::plan
