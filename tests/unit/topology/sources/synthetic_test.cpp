#include "topology/sources/synthetic.hpp"
#include "topology/device_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

ClusterTopology cluster_of(std::string_view text) {
    auto const result = parse_synthetic(text);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result.has_value() ? *result : ClusterTopology();
}
std::string synthetic_error(std::string_view text) {
    auto const result = parse_synthetic(text);
    EXPECT_TRUE(result.has_error()) << text;
    return result.has_error() ? result.error().message : "";
}

TEST(Synthetic, LeavesNodesGpus) {
    auto const cluster = cluster_of("synthetic:leaf:2 node:8 gpu:8");
    ASSERT_THAT(cluster.machines, SizeIs(16));
    EXPECT_EQ(cluster.machines[15].name, "n16");
    EXPECT_THAT(cluster.fabric.switches, SizeIs(2));
    EXPECT_THAT(switches_above(cluster.fabric, "n9"), ElementsAre("leaf2"));
    Machine const& machine = cluster.machines[0];
    ASSERT_THAT(machine.gpus, SizeIs(8));
    EXPECT_THAT(machine.nics, SizeIs(8));
    EXPECT_EQ(machine.gpus[0].name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(machine.gpus[7].numa, 1);
    EXPECT_EQ(machine.nics[0].rate_gbit, 400);
    auto const word = [&](std::string const& a, std::string const& b) {
        return path_word(device_path(machine, a, b));
    };
    EXPECT_EQ(word(machine.gpus[0].address, machine.gpus[7].address), "NV18");
    EXPECT_EQ(word(machine.gpus[3].address, machine.nics[3].address), "PIX");
    EXPECT_EQ(word(machine.gpus[3].address, machine.nics[2].address), "PHB");
    EXPECT_EQ(word(machine.gpus[3].address, machine.nics[4].address), "SYS");
}

TEST(Synthetic, EveryKey) {
    auto const cluster = cluster_of(
        "leaf:4,node:2,gpu:4 nic:1 spine:2 socket:1 core:64 model:a100 "
        "rate:25 up:50 fabric:roce block:4 name:gpu-");
    EXPECT_THAT(cluster.machines, SizeIs(8));
    EXPECT_EQ(cluster.machines[0].name, "gpu-1");
    EXPECT_EQ(cluster.machines[0].cores, 64);
    EXPECT_EQ(cluster.machines[0].gpus[0].compute_capability, 80);
    ASSERT_THAT(cluster.machines[0].nics, SizeIs(1));
    EXPECT_EQ(cluster.machines[0].nics[0].kind, NicKind::roce);
    EXPECT_EQ(cluster.machines[0].nics[0].rate_gbit, 25);
    EXPECT_THAT(cluster.fabric.switches, SizeIs(6));
    EXPECT_EQ(cluster.fabric.switches[0].up_gbit, 50);
    EXPECT_THAT(cluster.fabric.switches[0].parents, ElementsAre("spine1", "spine2"));
    EXPECT_THAT(cluster.fabric.blocks, SizeIs(2));
    EXPECT_THAT(cluster.fabric.blocks[1].nodes, SizeIs(4));
    EXPECT_EQ(cluster_of("node:3").machines.size(), 3u);
    EXPECT_EQ(cluster_of("node:3").fabric.switches.size(), 0u);
    EXPECT_EQ(cluster_of("leaf:2 spine:1 node:4 gpu:8").fabric.switches[0].up_gbit, 4 * 8 * 400);
}

TEST(Synthetic, ErrorsNameTheWordAndTheNearest) {
    EXPECT_EQ(synthetic_error("synthetic:laef:2 node:8"),
              "synthetic: laef:2: unknown key; did you mean leaf?");
    EXPECT_THAT(synthetic_error("synthetic:xyzzy:2"), HasSubstr("known: leaf node gpu"));
    EXPECT_THAT(synthetic_error("synthetic:"),
                HasSubstr("for example synthetic:leaf:2 node:8 gpu:8"));
    EXPECT_EQ(synthetic_error("leaf:2 node:x"), "synthetic: node:x: 'x' is no whole number");
    EXPECT_THAT(synthetic_error("node:-1"), HasSubstr("must be in 0..65536; nearest valid: 0"));
    EXPECT_THAT(synthetic_error("node:2.5"), HasSubstr("no whole number"));
    EXPECT_THAT(synthetic_error("rate:nan node:1"), HasSubstr("no number"));
    EXPECT_THAT(synthetic_error("rate:inf node:1"), HasSubstr("no number"));
    EXPECT_THAT(synthetic_error("gpu:65"), HasSubstr("nearest valid: 64"));
    EXPECT_THAT(synthetic_error("node:8 node:8"), HasSubstr("is given twice"));
    EXPECT_THAT(synthetic_error("node"), HasSubstr("a value is missing: node:8"));
    EXPECT_THAT(synthetic_error("node:0"), HasSubstr("at least 1"));
    EXPECT_THAT(synthetic_error("leaf:65536 node:65536"), HasSubstr("at most 65536"));
    EXPECT_THAT(synthetic_error("node:65536 gpu:64"), HasSubstr("devices in all"));
    EXPECT_THAT(synthetic_error("node:1 model:zx81"), HasSubstr("unknown GPU"));
    EXPECT_THAT(synthetic_error("node:1 fabric:rocee"), HasSubstr("did you mean roce?"));
}

}  // namespace
}  // namespace osora::topology
