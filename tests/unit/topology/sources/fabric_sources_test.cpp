// Texts as the programs print them; expected trees are drawn by hand.
#include "topology/sources/ibnetdiscover.hpp"
#include "topology/sources/slurm_topology.hpp"
#include "topology/sources/topology_yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Fabric value(Result<Fabric> const& result) {
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result.has_value() ? *result : Fabric();
}
std::string error(Result<Fabric> const& result) {
    EXPECT_TRUE(result.has_error());
    return result.has_error() ? result.error().message : "";
}
Switch switch_at(Fabric const& fabric, std::string const& name) {
    auto const found = std::ranges::find(fabric.switches, name, &Switch::name);
    EXPECT_NE(found, fabric.switches.end()) << name;
    return found != fabric.switches.end() ? *found : Switch();
}

// From the topology guide of Slurm.
constexpr char const* kScontrol =
    "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=tux[0-3]\n"
    "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=tux[4-7]\n"
    "SwitchName=s2 Level=1 LinkSpeed=1 Nodes=tux[0-7] Switches=s[0-1]\n";

TEST(SlurmTopology, TreeOfTopologyConf) {
    Fabric const fabric =
        value(parse_slurm_topology("# two leaves\n"
                                   "SwitchName=s0 Nodes=tux[0-3]\n"
                                   "switchname=s1 \\\n  nodes=tux[4-7] # more\n"
                                   "SwitchName=s2 Switches=s[0-1]\n",
                                   "topology.conf"));
    EXPECT_THAT(fabric.warnings, IsEmpty());
    ASSERT_THAT(fabric.switches, SizeIs(3));
    EXPECT_THAT(fabric.switches[1].nodes, ElementsAre("tux4", "tux5", "tux6", "tux7"));
    EXPECT_EQ(fabric.switches[2].level, 1);
    EXPECT_THAT(fabric.switches[0].parents, ElementsAre("s2"));
    EXPECT_THAT(switches_above(fabric, "tux5"), ElementsAre("s1", "s2"));
    EXPECT_THAT(switches_above(fabric, "tux9"), IsEmpty());
}

TEST(SlurmTopology, ScontrolRepeatsTheNodesAbove) {
    Fabric const fabric = value(parse_slurm_topology(kScontrol, "scontrol show topology"));
    EXPECT_THAT(fabric.warnings, IsEmpty());
    EXPECT_THAT(switches_above(fabric, "tux0"), ElementsAre("s0", "s2"));
    EXPECT_THAT(switch_at(fabric, "s2").nodes, IsEmpty());
}

TEST(SlurmTopology, BlocksAndRings) {
    Fabric const blocks =
        value(parse_slurm_topology("BlockName=b1 Nodes=n[1-18]\n"
                                   "BlockName=b2 Nodes=n[19-36]\n"
                                   "BlockSizes=18,36\n",
                                   "topology.conf"));
    ASSERT_THAT(blocks.blocks, SizeIs(2));
    EXPECT_THAT(blocks.blocks[1].nodes, SizeIs(18));
    EXPECT_THAT(blocks.block_sizes, ElementsAre(18, 36));
    Fabric const shown = value(
        parse_slurm_topology("BlockName=b1 BlockIndex=0 Nodes=n[1-18] BlockSize=18\n"
                             "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-36] BlockSize=36\n",
                             "scontrol"));
    EXPECT_THAT(shown.blocks, SizeIs(1));
    Fabric const ring = value(parse_slurm_topology("RingName=r Nodes=n[1-8]\n", "topology.conf"));
    EXPECT_THAT(ring.blocks, SizeIs(1));
    EXPECT_THAT(ring.warnings, ElementsAre(HasSubstr("ring is read as a block")));
}

TEST(SlurmTopology, LoopsDuplicatesAndStrangersAreSaid) {
    Fabric const fabric =
        value(parse_slurm_topology("SwitchName=a Switches=b,ghost\n"
                                   "SwitchName=b Switches=a Nodes=n1\n"
                                   "SwitchName=c Nodes=n[1-2]\n"
                                   "SwitchName=c Nodes=n3\n",
                                   "topology.conf"));
    EXPECT_THAT(fabric.warnings, ElementsAre("switch c is defined twice: joined",
                                             "switch ghost below a is not described: left out",
                                             "the link from b to a closes a loop: left out",
                                             "node n1 is below b and c: b is taken"));
    EXPECT_THAT(switch_at(fabric, "c").nodes, ElementsAre("n2", "n3"));
    EXPECT_THAT(switches_above(fabric, "n1"), ElementsAre("b", "a"));
}

TEST(SlurmTopology, LongChainsAndLoopsOfHandMadeFabricsEnd) {
    std::string text;
    for (int i = 0; i < 5000; ++i) {
        text += "SwitchName=s" + std::to_string(i) + " Switches=s" + std::to_string(i + 1) + "\n";
    }
    Fabric const fabric = value(parse_slurm_topology(text + "SwitchName=s5000 Nodes=n1\n", "x"));
    EXPECT_EQ(fabric.switches[0].level, 5000);
    EXPECT_THAT(switches_above(fabric, "n1"), SizeIs(5001));
    Fabric loop;
    loop.switches.resize(2);
    loop.switches[0].name = "a";
    loop.switches[0].nodes = {"n"};
    loop.switches[0].parents = {"b"};
    loop.switches[1].name = "b";
    loop.switches[1].parents = {"a"};
    EXPECT_THAT(switches_above(loop, "n"), ElementsAre("a", "b"));
}

TEST(SlurmTopology, ErrorsNameTheLine) {
    auto const why = [](char const* text) { return error(parse_slurm_topology(text, "x")); };
    EXPECT_EQ(why("SwitchName=a Nodes=n1\n\nSwitchName=b Nodes=n[1-\n"),
              "line 3: host list 'n[1-': '[' without ']'");
    EXPECT_EQ(why("SwitchNam=a Nodes=n1\n"),
              "line 1: unknown key SwitchNam; did you mean "
              "switchname?");
    EXPECT_EQ(why("hello\n"), "line 1: 'hello' is no KEY=VALUE");
    EXPECT_EQ(why(""), "no line with SwitchName=, BlockName= or RingName=");
    EXPECT_EQ(why("BlockSizes=0\n"), "line 1: '0' is no block size");
    EXPECT_THAT(why("Nodes=n1\n"), HasSubstr("line 1: starts with none of"));
}

TEST(SlurmTopology, AddressesOfNodes) {
    std::string const pattern = "switch.switch.node";
    Fabric const fabric = value(parse_topology_addresses(
        {{"s1.l1.n1", pattern}, {"s1.l1.n2", pattern}, {"s1.l2.n3", pattern}}));
    EXPECT_THAT(switches_above(fabric, "n3"), ElementsAre("l2", "s1"));
    EXPECT_THAT(switch_at(fabric, "l1").nodes, ElementsAre("n1", "n2"));
    EXPECT_EQ(switch_at(fabric, "s1").level, 1);
    Fabric const several = value(parse_topology_addresses({{"s[1-2].l1.n1", pattern}}));
    EXPECT_THAT(switch_at(several, "l1").parents, ElementsAre("s1", "s2"));
    Fabric const blocks =
        value(parse_topology_addresses({{"b1.n1", "block.node"}, {"b1.n2", "block.node"}}));
    EXPECT_THAT(blocks.blocks, ElementsAre(Block{"b1", {"n1", "n2"}}));
    EXPECT_THAT(error(parse_topology_addresses({{"s1.n1", pattern}})),
                HasSubstr("does not fit the pattern"));
    EXPECT_THAT(error(parse_topology_addresses({{"s1.n1", "rack.node"}})),
                HasSubstr("a level is switch, block or node"));
}

constexpr char const* kYaml = R"(- topology: tree1
  cluster_default: false
  tree:
    switches:
      - switch: root
        children: leaf[1-2]
      - switch: leaf1
        nodes: n[1-2]
      - switch: leaf2
        nodes: n[3-4]
- topology: nvl
  cluster_default: true
  block:
    block_sizes: [2, 4]
    blocks:
      - block: b1
        nodes: n[1-2]
      - block: b2
        nodes: n[3-4]
)";

TEST(TopologyYaml, TheDefaultIsRead) {
    Fabric const fabric = value(parse_topology_yaml(kYaml));
    EXPECT_EQ(fabric.source, "topology.yaml: nvl");
    EXPECT_THAT(fabric.blocks, SizeIs(2));
    EXPECT_THAT(fabric.block_sizes, ElementsAre(2, 4));
    EXPECT_THAT(fabric.warnings,
                ElementsAre("of 2 topologies, nvl is read; --topology takes another: tree1"));
    std::string text = kYaml;
    text.replace(text.find("true"), 4, "false");
    Fabric const first = value(parse_topology_yaml(text));
    EXPECT_THAT(switches_above(first, "n3"), ElementsAre("leaf2", "root"));
    EXPECT_THAT(value(parse_topology_yaml("- topology: f\n  flat: true\n")).switches, IsEmpty());
    EXPECT_THAT(value(parse_topology_yaml("- topology: t\n  torus3d: {}\n")).warnings, SizeIs(1));
}

// Nebius's soperator: "several set it - the first one wins".
TEST(TopologyYaml, OfSeveralDefaultsTheFirst) {
    std::string text = kYaml;
    text.replace(text.find("false"), 5, "true");
    Fabric const fabric = value(parse_topology_yaml(text));
    EXPECT_EQ(fabric.source, "topology.yaml: tree1");
    EXPECT_THAT(fabric.blocks, IsEmpty());
    EXPECT_THAT(fabric.warnings, ElementsAre(HasSubstr("the first of several defaults")));
}

TEST(TopologyYaml, OneIsChosenByName) {
    Fabric const fabric = value(parse_topology_yaml(kYaml, "tree1"));
    EXPECT_EQ(fabric.source, "topology.yaml: tree1");
    EXPECT_THAT(fabric.switches, SizeIs(3));
    EXPECT_THAT(fabric.warnings, IsEmpty());
    EXPECT_EQ(error(parse_topology_yaml(kYaml, "tree2")),
              "no topology tree2; there are tree1, nvl");
}

// Google's cluster-toolkit writes the first before it knows of switches.
TEST(TopologyYaml, AnEmptyTreeIsNoError) {
    for (char const* tree : {"tree:\n    switches: []\n", "tree:\n    switches:\n", "tree:\n",
                             "tree: {}\n", "block: {block_sizes: [4]}\n"}) {
        Fabric const fabric =
            value(parse_topology_yaml(std::string("---\n- topology: topology/tree\n"
                                                  "  cluster_default: true\n  ") +
                                      tree));
        EXPECT_THAT(fabric.switches, IsEmpty()) << tree;
        EXPECT_THAT(fabric.warnings, ElementsAre(HasSubstr("topology/tree names no "))) << tree;
    }
}

// SlinkyProject/slurm-operator: a GB300 whose nodes are named by address.
TEST(SlurmTopology, NodesNamedByAddress) {
    Fabric const fabric = value(
        parse_slurm_topology("BlockName=b1 BlockIndex=0 Nodes=10.0.71.[103-104] BlockSize=2\n"
                             "BlockName=b2 BlockIndex=1 Nodes=10.0.72.103,10.0.72.104\n"
                             "AggregatedBlock=b[1-2] Nodes=10.0.71.[103-104],10.0.72.[103-104]\n",
                             "scontrol show topology"));
    EXPECT_THAT(fabric.blocks, ElementsAre(Block{"b1", {"10.0.71.103", "10.0.71.104"}},
                                           Block{"b2", {"10.0.72.103", "10.0.72.104"}}));
}

TEST(TopologyYaml, ErrorsNameTheLine) {
    auto const why = [](std::string const& text) { return error(parse_topology_yaml(text)); };
    EXPECT_EQ(why("- topology: t\n  tree:\n    switches:\n      - switch: s\n        nodes: n[\n"),
              "line 5: host list 'n[': '[' without ']'");
    EXPECT_THAT(why("a: b\n"), HasSubstr("expected a list of topologies"));
    EXPECT_THAT(why(""), HasSubstr("expected a list of topologies"));
    EXPECT_THAT(why("- topology: t\n"), HasSubstr("none of tree, block, flat"));
    EXPECT_THAT(why("- topology: [\n"), HasSubstr("line "));
    EXPECT_THAT(why(std::string(100000, '[')), HasSubstr("line 1"));
    EXPECT_THAT(why("- topology: t\n  tree: 7\n"), HasSubstr("line 2: 'tree' is a map"));
    EXPECT_THAT(why("- topology: t\n  block: {blocks: [{block: b, nodes: [1]}]}\n"),
                HasSubstr("is one host list"));
}

// In the form of infiniband-diags' documentation: two leaves, a spine, a manager on the spine.
std::string ib_fabric() {
    std::string text = "#\n# Topology file: generated on Mon Jan  1 00:00:00 2024\n#\n";
    auto const port = [](int at, std::string const& peer, std::string const& rest) {
        return "[" + std::to_string(at) + "]\t\"" + peer + "\"[1](0)\t\t# " + rest + "\n";
    };
    for (int leaf = 1; leaf <= 2; ++leaf) {
        std::string const id = "S-leaf000" + std::to_string(leaf);
        text += "\nvendid=0x2c9\ndevid=0xd2f0\nswitchguid=0x1(1)\nSwitch\t40 \"" + id +
                "\"\t\t# \"MF0;leaf" + std::to_string(leaf) +
                ":MQM8700/U1\" enhanced port 0 lid 3 lmc 0\n";
        for (int node = 0; node < 4; ++node) {
            std::string const host = "n" + std::to_string(4 * (leaf - 1) + node + 1);
            text += port(node + 1, "H-" + host,
                         "\"" + host + " mlx5_0\" lid 5 4x" + (host == "n6" ? "EDR" : "HDR"));
        }
        text += port(39, "S-spine001", "\"MF0;spine1:MQM8700/U1\" lid 9 4xHDR");
        text += port(40, "S-spine001", "\"MF0;spine1:MQM8700/U1\" lid 9 4xHDR");
    }
    text += "\nSwitch\t40 \"S-spine001\"\t\t# \"MF0;spine1:MQM8700/U1\" base port 0 lid 9 lmc 0\n";
    for (int leaf = 1; leaf <= 2; ++leaf) {
        for (int i = 0; i < 2; ++i) {
            text += port(2 * leaf + i, "S-leaf000" + std::to_string(leaf), "\"leaf\" lid 3 4xHDR");
        }
    }
    text += port(20, "H-ufm", "\"ufm1 HCA-1\" lid 30 4xHDR");
    text += port(41, "H-sharp", "\"Mellanox Technologies Aggregation Node\" lid 31 4xHDR");
    for (int i = 1; i <= 8; ++i) {
        std::string const host = "n" + std::to_string(i);
        text += "\ncaguid=0x1\nCa\t1 \"H-" + host + "\"\t\t# \"" + host +
                " mlx5_0\"\n[1](1) \t\"S-leaf000" + std::to_string((i - 1) / 4 + 1) +
                "\"[1]\t\t# lid 5 lmc 0 \"leaf\" lid 3 4xHDR\n";
    }
    text +=
        "\nCa\t1 \"H-ufm\"\t\t# \"ufm1 HCA-1\"\n[1](1) \t\"S-spine001\"[20]\t\t# lid 30 4xHDR\n";
    text += "\nCa\t1 \"H-sharp\"\t\t# \"Mellanox Technologies Aggregation Node\"\n";
    return text;
}

TEST(Ibnetdiscover, LeavesSpinesRatesAndASlowLink) {
    Fabric const fabric = value(parse_ibnetdiscover(ib_fabric()));
    ASSERT_THAT(fabric.switches, SizeIs(3));
    Switch const leaf = switch_at(fabric, "leaf2");
    EXPECT_EQ(leaf.level, 0);
    EXPECT_THAT(leaf.nodes, ElementsAre("n5", "n6", "n7", "n8"));
    EXPECT_EQ(leaf.up_gbit, 400);
    Switch const spine = switch_at(fabric, "spine1");
    EXPECT_EQ(spine.level, 1);
    EXPECT_THAT(spine.nodes, ElementsAre("ufm1"));
    EXPECT_THAT(spine.children, ElementsAre("leaf1", "leaf2"));
    EXPECT_THAT(switches_above(fabric, "n7"), ElementsAre("leaf2", "spine1"));
    EXPECT_THAT(fabric.warnings,
                ElementsAre("link leaf2[2] - n6 mlx5_0 runs at 100 Gbit/s, others at 200"));
}

// The example of ibnetdiscover(8): the nodes have no names, two switches share no host.
std::string manual_fabric() {
    constexpr char const* kHost = "\"MT23108 InfiniHost Mellanox Technologies\"";
    std::string text =
        "Switch  24 \"S-005442ba00003080\"  # \"ISR9024 Voltaire\" base port 0 lid 6 lmc 0\n"
        "[10]    \"S-0008f10400410015\"[1]  # \"SW-6IB4 Voltaire\" lid 3 4xSDR\n"
        "[6]     \"S-0008f10400410015\"[3]  # \"SW-6IB4 Voltaire\" lid 3 4xSDR\n";
    auto const host = [&](char const* port, char const* id) {
        text += std::string(port) + " \"H-" + id + "\"[1](0) # " + kHost + " lid 4 4xSDR\n";
    };
    host("[22]", "0008f10403961354");
    host("[8]", "0008f10403960558");
    host("[12]", "0008f10403960558");
    text +=
        "\nSwitch  8 \"S-0008f10400410015\"  # \"SW-6IB4 Voltaire\" base port 0 lid 3 lmc 0\n"
        "[1]     \"S-005442ba00003080\"[10]  # \"ISR9024 Voltaire\" lid 6 1xSDR\n"
        "[3]     \"S-005442ba00003080\"[6]  # \"ISR9024 Voltaire\" lid 6 4xSDR\n";
    host("[6]", "0008f10403960984");
    host("[4]", "005442b100004900");
    for (char const* id :
         {"0008f10403960984", "005442b100004900", "0008f10403961354", "0008f10403960558"}) {
        text += std::string("\nCa 2 \"H-") + id + "\" # " + kHost + "\n";
    }
    return text;
}

TEST(Ibnetdiscover, HostsWithoutANameAreToldApartByGuid) {
    Fabric const fabric = value(parse_ibnetdiscover(manual_fabric()));
    ASSERT_THAT(fabric.switches, SizeIs(2));
    EXPECT_THAT(switch_at(fabric, "ISR9024 Voltaire").nodes,
                testing::UnorderedElementsAre("H-0008f10403961354", "H-0008f10403960558"));
    EXPECT_THAT(switch_at(fabric, "SW-6IB4 Voltaire").nodes,
                testing::UnorderedElementsAre("H-0008f10403960984", "H-005442b100004900"));
    EXPECT_THAT(fabric.warnings, testing::Contains(testing::AllOf(
                                     HasSubstr("SW-6IB4 Voltaire[1] - ISR9024 Voltaire[10]"),
                                     HasSubstr("2.5 Gbit/s"), HasSubstr("10 by the other"))));
}

TEST(Ibnetdiscover, AdaptersThatAreDescribedAlikeAreOfTwoHosts) {
    std::string text = "Switch 36 \"S-1\" # \"MF0;leaf1:MSB7800/U1\" enhanced port 0 lid 1 lmc 0\n";
    std::string adapters;
    int port = 0;
    for (auto const& [id, name] : {std::pair{"0001", "localhost mlx5_0"},
                                   {"0002", "localhost mlx5_0"},
                                   {"0003", "n7 mlx5_0"},
                                   {"0004", "n7 mlx5_1"},
                                   {"0005", "MT4123 ConnectX6   Mellanox Technologies"},
                                   {"0006", "gpu-8 HCA-1"}}) {
        text += "[" + std::to_string(++port) + "] \"H-" + id + "\"[1](0) # \"" + name +
                "\" lid 5 4xEDR\n";
        adapters += std::string("\nCa 1 \"H-") + id + "\" # \"" + name + "\"\n";
    }
    Fabric const fabric = value(parse_ibnetdiscover(text + adapters));
    EXPECT_THAT(switch_at(fabric, "leaf1").nodes,
                ElementsAre("localhost-0001", "localhost-0002", "n7", "H-0005", "gpu-8"));
    EXPECT_THAT(fabric.warnings, IsEmpty());
}

TEST(Ibnetdiscover, OneSlowUplinkIsOneWarning) {
    std::string text = ib_fabric();
    // Both ends of a cable report its rate.
    auto const slower = [&](std::string const& section, std::string const& port) {
        auto const at = text.find("]", text.find(port, text.find(section)));
        text.replace(text.find("4xHDR", at), 5, "4xDDR");
    };
    slower("Switch\t40 \"S-leaf0001", "\n[40]");
    slower("Switch\t40 \"S-spine001", "\n[3]");
    Fabric const fabric = value(parse_ibnetdiscover(text));
    EXPECT_THAT(fabric.warnings,
                testing::Contains("link leaf1[40] - spine1 runs at 20 Gbit/s, others at 200"));
    EXPECT_THAT(fabric.warnings, SizeIs(2));  // and n6's
}

TEST(Ibnetdiscover, RatesByName) {
    EXPECT_EQ(infiniband_gbit("4xHDR"), 200);
    EXPECT_EQ(infiniband_gbit("4xNDR"), 400);
    EXPECT_EQ(infiniband_gbit("1xSDR"), 2.5);
    EXPECT_EQ(infiniband_gbit("12xQDR"), 120);
    for (char const* none : {"", "4x", "HDR", "0xHDR", "4xABC", "99999999999xHDR"}) {
        EXPECT_EQ(infiniband_gbit(none), std::nullopt) << none;
    }
}

TEST(Ibnetdiscover, ErrorsNameTheLine) {
    EXPECT_EQ(error(parse_ibnetdiscover("")), "no section 'Switch' in it");
    EXPECT_EQ(error(parse_ibnetdiscover("Switch 36 \"S-1\n")),
              "line 1: a section without an id: cut off?");
    EXPECT_EQ(error(parse_ibnetdiscover("\n[1] \"S-1\"[2]\n")),
              "line 2: a port before any section");
    EXPECT_EQ(error(parse_ibnetdiscover("Switch 36 \"S-1\" # \"x\"\n[1] \"H-")),
              "line 2: a port without its peer: cut off?");
}

}  // namespace
}  // namespace osora::topology
