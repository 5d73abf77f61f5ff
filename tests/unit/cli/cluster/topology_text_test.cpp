#include "cli/cluster/topology_text.hpp"
#include "cli/text/terminal.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/sources/read_machine.hpp"
#include "topology/sources/slurm_topology.hpp"
#include "topology/sources/synthetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace osora::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using tests::RecordedTree;

void expect_fits(std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
}

TEST(TopologyText, FabricOfSpinesAndLeaves) {
    auto const cluster = *topology::parse_synthetic("spine:2 leaf:3 node:32 gpu:1");
    EXPECT_EQ(render_fabric(cluster.fabric),
              "spine[1-2]\n"
              "├─ leaf1  n[1-32]  32 nodes  12800 Gbit/s up\n"
              "├─ leaf2  n[33-64]  32 nodes  12800 Gbit/s up\n"
              "└─ leaf3  n[65-96]  32 nodes  12800 Gbit/s up\n");
    EXPECT_THAT(render_topology(cluster),
                StartsWith("96 nodes · 3 leaves · 2 spines · 96 GPUs · 96 RDMA cards\n"));
}

TEST(TopologyText, AWideFabricIsFolded) {
    auto const cluster = *topology::parse_synthetic("spine:4 leaf:128 node:8");
    std::string const text = render_fabric(cluster.fabric);
    EXPECT_THAT(text, HasSubstr("└─ 112 more with 896 nodes\n"));
    expect_fits(text);
}

TEST(TopologyText, MachinesOfAllKindsFit) {
    for (char const* name : {"dgx_a100", "hgx_h100", "pcie_3090", "cpu_server", "cloud_vm"}) {
        topology::ClusterTopology cluster;
        cluster.machines.push_back(topology::read_machine(RecordedTree::named(name).root()));
        expect_fits(render_topology(cluster));
    }
}

TEST(TopologyText, AMachineWithADowngradedCard) {
    auto const tree = RecordedTree::named("hgx_h100");
    tree.write("sys/class/infiniband/mlx5_4/device/current_link_speed", "8.0 GT/s PCIe\n");
    auto const machine = topology::read_machine(tree.root());
    std::string const text = render_machine(machine);
    EXPECT_THAT(text, StartsWith("2 x Intel(R) Xeon(R) Platinum 8480C · 112 cores · 1.97 TiB · 8 x "
                                 "NVIDIA H100\n80GB HBM3 · NVSwitch · driver 550.54.15\n"
                                 "NUMA 0    cpus 0-55,112-167\n"));
    EXPECT_THAT(text, HasSubstr("│  ├─ GPU0    0000:18:00.0  gen5 x16  NVIDIA H100 80GB HBM3\n"
                                "│  └─ mlx5_2  0000:17:00.0  gen5 x16  infiniband 400 Gbit/s "
                                "ibp23s0\n"));
    EXPECT_THAT(text, HasSubstr("mlx5_4  0000:29:00.0  gen3 x16 <- can gen5 x16  infiniband"));
    EXPECT_THAT(text, HasSubstr("mlx5_0  0000:65:00.0  gen4 x16  roce 100 Gbit/s enp101s0np0 "
                                "10.0.0"));
    std::string const paths = render_paths(machine);
    EXPECT_THAT(paths, StartsWith("          GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7\n"
                                  "GPU0      X    NODE NODE NODE SYS  SYS  SYS  SYS\n"));
    EXPECT_THAT(paths, HasSubstr("mlx5_1    SYS  SYS  SYS  SYS  PIX  NODE NODE NODE\n"));
}

TEST(TopologyText, SixteenGpusTakeTwoBlocksOfColumns) {
    auto const cluster = *topology::parse_synthetic("node:1 gpu:16");
    std::string const text = render_paths(cluster.machines[0]);
    expect_fits(text);
    EXPECT_THAT(text, HasSubstr("\n\n          GPU12 GPU13 GPU14 GPU15\nGPU0      NV18  NV18  "));
}

TEST(TopologyText, NothingKnownAndHostileNames) {
    EXPECT_THAT(render_topology({}), HasSubstr("0 nodes"));
    topology::ClusterTopology cluster;
    cluster.machines.resize(1);
    cluster.machines[0].name = "a\x1b[2Jb";
    cluster.machines[0].nics.resize(1);
    cluster.machines[0].nics[0].interface = "x\ny";
    cluster.fabric.warnings = {"odd \x07"};
    std::string const text = render_topology(cluster);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
    // Parents that form a cycle: there is no top, and nothing hangs.
    cluster.fabric.switches.resize(1);
    cluster.fabric.switches[0].name = "a";
    cluster.fabric.switches[0].parents = cluster.fabric.switches[0].children = {"a"};
    EXPECT_THAT(render_topology(cluster), HasSubstr("1 leaf"));
}

TEST(TopologyText, ASharedEffectIsPrintedOnce) {
    EXPECT_EQ(render_differences("n2", {{"nic.a.rate_gbit", "400", "200", "slow", true},
                                        {"nic.b.rate_gbit", "400", "200", "slow", true},
                                        {"kernel", "5", "6", "", false}}),
              "n2  nic.a.rate_gbit  400 -> 200\n"
              "  nic.b.rate_gbit  400 -> 200\n"
              "    slow\n"
              "  kernel  5 -> 6\n");
}

}  // namespace
}  // namespace osora::cli
