// Damaged topology files of every kind: nothing crashes or hangs, an error is one line that can be
// printed, and what is read keeps the invariants of a fabric and of a machine.
// OSORA_FUZZ_ROUNDS is small in the gate, large in the soak tier.
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "tests/kit/size.hpp"
#include "topology/device_path.hpp"
#include "topology/machine_diff.hpp"
#include "topology/sources/ibnetdiscover.hpp"
#include "topology/sources/nccl_xml.hpp"
#include "topology/sources/read_machine.hpp"
#include "topology/sources/slurm_topology.hpp"
#include "topology/sources/source_kind.hpp"
#include "topology/sources/synthetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace osora::fuzz {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 3000);

using topology::ClusterTopology;
using topology::Fabric;
using topology::Machine;

/// Whatever the text said: levels rise, links are known at both ends, no loops.
void check(Fabric const& fabric) {
    std::map<std::string, topology::Switch const*> by_name;
    for (auto const& each : fabric.switches) {
        EXPECT_TRUE(by_name.emplace(each.name, &each).second) << each.name << " twice";
    }
    for (auto const& each : fabric.switches) {
        EXPECT_GE(each.up_gbit, 0);
        for (auto const& child : each.children) {
            ASSERT_TRUE(by_name.contains(child));
            EXPECT_LT(by_name[child]->level, each.level);
            auto const& parents = by_name[child]->parents;
            EXPECT_NE(std::ranges::find(parents, each.name), parents.end());
        }
        for (auto const& node : each.nodes) EXPECT_FALSE(switches_above(fabric, node).empty());
    }
}

void check(Machine const& machine) {
    for (auto const& gpu : machine.gpus) {
        EXPECT_TRUE(gpu.link.max_gt_s >= 0 && gpu.link.max_gt_s <= 1024);
        EXPECT_TRUE(gpu.link.max_width >= 0 && gpu.link.max_width <= 32);
        EXPECT_GE(gpu.numa, -1);
    }
    for (auto const& nic : machine.nics) {
        EXPECT_TRUE(nic.rate_gbit >= 0 && nic.rate_gbit < 1e12) << nic.rate_gbit;
        EXPECT_TRUE(nic.mtu >= 0);
    }
    EXPECT_TRUE(diff_machines(machine, machine).empty());
    (void)topology::path_matrix(machine);
}

void check_error(Error const& error) {
    EXPECT_FALSE(error.message.empty());
    EXPECT_TRUE(std::ranges::none_of(error.message, [](char each) {
        return (each >= 0 && each < ' ') || each == '\x7f';
    })) << error.message;
}

template <class Parse>
void fuzz(std::vector<std::string> const& corpus, unsigned seed, Parse parse) {
    Mutator mutator(seed);
    int read = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(corpus);
        Result<ClusterTopology> const result = parse(text);
        if (result.has_error()) {
            check_error(result.error());
        } else {
            ++read;
            check(result->fabric);
            for (Machine const& machine : result->machines) check(machine);
        }
        if (testing::Test::HasFailure()) FAIL() << "round " << round << ": " << text;
    }
    EXPECT_GT(read, kRounds / 50) << "too few survive";
}

Result<ClusterTopology> any(std::string const& text) {
    return topology::parse_topology_text(text, {"n", ""});
}

TEST(Fuzz, SlurmTopologies) {
    fuzz({"SwitchName=s0 Level=0 LinkSpeed=1 Nodes=tux[0-3]\nSwitchName=s1 Nodes=tux[4-7]\n"
          "SwitchName=s2 Level=1 Switches=s[0-1] Nodes=tux[0-7]\n",
          "# c\nBlockName=b1 Nodes=n[1-4] \\\n BlockSize=4\nBlockSizes=4,8\nRingName=r Nodes=m1\n"},
         1, any);
}

TEST(Fuzz, TopologyYaml) {
    fuzz({"---\n- topology: t\n  cluster_default: true\n  tree:\n    switches:\n"
          "      - switch: s\n        children: l[1-2]\n      - switch: l1\n        nodes: n[1-2]\n"
          "      - {switch: l2, nodes: n3}\n",
          "- topology: b\n  block:\n    block_sizes: [2, 4]\n    blocks:\n"
          "      - {block: b1, nodes: \"n[1-2]\"}\n"},
         2, any);
}

TEST(Fuzz, Ibnetdiscover) {
    fuzz({"vendid=0x2c9\nSwitch\t40 \"S-1\"\t# \"MF0;l1:Q/U1\" lid 3\n"
          "[1]\t\"H-1\"[1](2)\t# \"n1 mlx5_0\" lid 5 4xHDR\n[2]\t\"S-2\"[9]\t# \"x\" 4xNDR\n\n"
          "Switch\t40 \"S-2\"\t# \"MF0;s1:Q/U1\" lid 4\n[9]\t\"S-1\"[2]\t# \"x\" lid 3 4xNDR\n\n"
          "Ca\t1 \"H-1\"\t# \"n1 mlx5_0\"\n[1](2)\t\"S-1\"[1]\t# lid 5 4xHDR\n"},
         3, any);
}

TEST(Fuzz, NcclXml) {
    Machine machine = topology::read_machine(tests::RecordedTree::named("pcie_3090").root());
    for (auto& gpu : machine.gpus) gpu.nvlinks = {{"switch", 4}, {"0000:03:00.0", 2}};
    fuzz({topology::write_nccl_xml(machine),
          "<system version=\"1\"><cpu numaid=\"1\"><pci busid=\"0000:01:00.0\" class=\"0x020700\">"
          "<nic><net name=\"a\" speed=\"100000\" guid=\"0x1\"/></nic></pci></cpu></system>"},
         4, any);
}

TEST(Fuzz, SyntheticTexts) {
    fuzz({"synthetic:leaf:2 node:8 gpu:8", "spine:2,leaf:4,node:2 gpu:4 nic:1 rate:25.5 up:50",
          "node:3 model:a100 fabric:roce block:2 name:x socket:1 core:4"},
         5, [](std::string const& text) { return topology::parse_synthetic(text); });
}

TEST(Fuzz, AddressesOfJobs) {
    Mutator mutator(6);
    std::vector<std::string> const corpus{"s1.l[1-2].n1", "switch.switch.node", "block.node"};
    for (int round = 0; round < kRounds; ++round) {
        auto const result = topology::parse_topology_addresses(
            {{mutator.mutate(corpus), "switch.switch.node"}, {"a.b.c", mutator.mutate(corpus)}});
        if (result.has_value()) check(*result);
        if (HasFailure()) FAIL() << "round " << round;
    }
}

/// Files of a recorded machine, each damaged in turn: the machine is read all the same.
TEST(Fuzz, SysfsTrees) {
    namespace fs = std::filesystem;
    tests::RecordedTree const tree = tests::RecordedTree::named("cpu_server");
    std::vector<std::pair<fs::path, std::string>> files;
    for (auto const& entry : fs::recursive_directory_iterator(tree.root())) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path());
        files.emplace_back(entry.path(), std::string(std::istreambuf_iterator<char>(file), {}));
    }
    std::ranges::sort(files);
    Mutator mutator(7);
    for (int round = 0; round < kRounds / 10; ++round) {
        auto const& [path, content] = files[mutator.pick(files.size())];
        std::ofstream(path) << mutator.mutate(
            {content, "4294967296", "-7", "Node 0 MemTotal: 1 kB"});
        check(topology::read_machine(tree.root()));
        if (mutator.pick(8) == 0) {
            for (auto const& [each, original] : files) std::ofstream(each) << original;
        }
        if (HasFailure()) FAIL() << "round " << round << ": " << path;
    }
}

}  // namespace
}  // namespace osora::fuzz
