// The commands as their rows run them: exit codes, JSON, and sources of every kind.
#include "base/files/files.hpp"
#include "cli/command/commands.hpp"
#include "cli/plan/topology_source.hpp"
#include "protocol/json.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/sources/nccl_xml.hpp"
#include "topology/sources/read_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using tests::RecordedTree;

struct Ran {
    int code = 0;
    std::string out, err;
};

Ran run(CommandSpec const& command, std::vector<std::string> const& words) {
    auto const arguments = parse_arguments(command, words);
    EXPECT_TRUE(arguments.has_value()) << arguments.error().message;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Ran ran;
    ran.code = command.run(Context{}, *arguments);
    std::fflush(stdout);
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    return ran;
}

protocol::json::value json_of(std::string const& text) {
    auto const value = protocol::parse_json(text);
    EXPECT_TRUE(value.has_value()) << text;
    return value.has_value() ? *value : protocol::json::value();
}

/// Three equal nodes and one that lacks a card and has a narrow link.
class Fleet : public testing::Test {
protected:
    void SetUp() override {
        auto const text =
            *read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/topology/pcie_3090.tree");
        for (char const* node : {"n1", "n2", "n3", "n4"}) {
            tests::unpack_tree(text, folder_.root() / "nodes" / node);
        }
        folder_.write(
            "nodes/n3/sys/devices/pci0000:40/0000:40:02.0/0000:42:00.0/"
            "current_link_width",
            "4\n");
        folder_.remove("nodes/n3/sys/class/net/eno1");
    }
    [[nodiscard]] std::string path(std::string const& name = "") const {
        return (folder_.root() / name).string();
    }
    RecordedTree folder_;
};

TEST_F(Fleet, TheOddOneOutIsNamed) {
    auto const text = run(topology_diff_command(), {path()});
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.out, HasSubstr("1 of 4 nodes differ from the other 3: n[1-2,4]\n\nn3\n"
                                    "  nic.eno1  10 Gbit/s ethernet at 0000:01:00.0 -> missing\n"));
    EXPECT_THAT(text.out, HasSubstr("  gpu.2.link.current_width  x16 -> x4\n"));
    auto const json = json_of(run(topology_diff_command(), {path(), "--json"}).out);
    EXPECT_EQ(json.at("schema"), "osora.topology_diff/1");
    EXPECT_EQ(json.at("equal"), false);
    EXPECT_EQ(json.at("reference").as_array().size(), 3u);
    auto const& group = json.at("groups").as_array().at(0);
    EXPECT_EQ(group.at("nodes").as_array().at(0), "n3");
    EXPECT_EQ(group.at("differences").as_array().at(0).at("path"), "nic.eno1");
    EXPECT_EQ(group.at("differences").as_array().at(0).at("other"), "missing");
}

TEST_F(Fleet, TwoNodesAndTwoClusters) {
    EXPECT_EQ(run(topology_diff_command(), {path("nodes/n1"), path("nodes/n2")}).code, 0);
    auto const two = run(topology_diff_command(), {path("nodes/n1"), path("nodes/n3")});
    EXPECT_EQ(two.code, 1);
    EXPECT_THAT(two.out, HasSubstr("nic.eno1"));
    EXPECT_EQ(run(topology_diff_command(), {path(), path()}).code, 0);
    auto const json = json_of(run(topology_diff_command(),
                                  {"synthetic:leaf:1 node:2", "synthetic:leaf:2 node:1", "--json"})
                                  .out);
    EXPECT_EQ(json.at("fabric").as_array().at(0).at("path"), "node.n2.leaf");
}

TEST_F(Fleet, ImportReadsBack) {
    std::string const file = path("cluster.json");
    EXPECT_EQ(run(topology_import_command(), {path("nodes"), "-o", file}).code, 0);
    EXPECT_EQ(run(topology_diff_command(), {path("nodes"), file}).code, 0);
    auto const shown = run(topology_show_command(), {file, "--json"});
    EXPECT_EQ(shown.out, *read_file(file));
    EXPECT_EQ(json_of(shown.out).at("schema"), "osora.topology/1");
    EXPECT_THAT(json_of(shown.out).at("machines").as_array(), SizeIs(4));
}

TEST_F(Fleet, SourcesOfEveryKind) {
    auto const machine = topology::read_machine(path("nodes/n1"));
    folder_.write("n9.xml", topology::write_nccl_xml(machine));
    folder_.write("topology.conf", "SwitchName=s1 Nodes=n[1-4]\n");
    folder_.write("topology.yaml",
                  "---\n- topology: t\n  tree:\n    switches:\n"
                  "      - {switch: s1, nodes: \"n[1-2]\"}\n");
    folder_.write("ib.txt",
                  "#\nvendid=0x2c9\nSwitch\t36 \"S-1\"\t# \"MF0;s1:X/U1\"\n"
                  "[1]\t\"H-1\"[1]\t# \"n1 HCA-1\" lid 1 4xHDR\n"
                  "Ca\t1 \"H-1\"\t# \"n1 HCA-1\"\n");
    for (char const* name : {"topology.conf", "topology.yaml", "ib.txt"}) {
        auto const loaded = load_topology({}, path(name));
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        EXPECT_EQ(topology::switches_above(loaded->fabric, "n1"), std::vector<std::string>{"s1"});
    }
    EXPECT_EQ(load_topology({}, path("n9.xml"))->machines.at(0).name, "n9");
}

TEST_F(Fleet, OneOfSeveralTopologiesIsChosen) {
    folder_.write("topology.yaml",
                  "- topology: eth\n  cluster_default: true\n  tree:\n    switches:\n"
                  "      - {switch: s1, nodes: \"n[1-2]\"}\n"
                  "- topology: nvl\n  block:\n    blocks:\n"
                  "      - {block: b1, nodes: \"n[1-2]\"}\n");
    auto const named = [&](std::string const& source, std::string const& name) {
        return run(topology_show_command(), {source, "--topology", name});
    };
    EXPECT_THAT(named(path("topology.yaml"), "nvl").out, HasSubstr("1 block"));
    EXPECT_THAT(run(topology_show_command(), {path("topology.yaml")}).out,
                HasSubstr("--topology takes another: nvl"));
    auto const none = named(path("topology.yaml"), "ib");
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("no topology ib; there are eth, nvl"));
    for (std::string const& source : {path("nodes"), std::string("synthetic:leaf:2 node:2")}) {
        EXPECT_EQ(named(source, "nvl").code, 2) << source;
        EXPECT_THAT(named(source, "nvl").err, HasSubstr("only a topology.yaml")) << source;
    }
}

TEST_F(Fleet, SocketsAreNotCalledRdma) {
    folder_.write(
        "gb10.xml",
        "<system><cpu numaid=\"-1\"><pci busid=\"000f:01:00.0\" class=\"0x030000\" "
        "vendor=\"0x10de\" device=\"0x2e12\"><gpu dev=\"0\" sm=\"121\"/></pci><nic><net "
        "name=\"tailscale0\" speed=\"10000\" port=\"0\" guid=\"0x1\" gdr=\"0\"/></nic></cpu>"
        "</system>");
    auto const shown = run(topology_show_command(), {path("gb10.xml")});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("1 GPU · 1 interface"));
    EXPECT_THAT(shown.out, HasSubstr("GPU (sm 121)"));
    EXPECT_THAT(shown.out, testing::Not(HasSubstr("RDMA")));
    EXPECT_THAT(shown.out, testing::Not(HasSubstr("roce")));
}

TEST_F(Fleet, NvlinksComeFromWhatNcclDumped) {
    auto machine = topology::read_machine(path("nodes/n1"));
    for (auto& gpu : machine.gpus) gpu.nvlinks = {{"switch", 4}};
    folder_.write("nodes/n1/nccl_topo.xml", topology::write_nccl_xml(machine));
    auto const loaded = load_topology({}, path("nodes/n1"));
    EXPECT_EQ(loaded->machines.at(0).gpus.at(0).nvlinks, machine.gpus[0].nvlinks);
}

TEST_F(Fleet, BadSourcesAreRefused) {
    folder_.write("empty/x.txt", "");
    folder_.write("cut.xml", "<system>\n<cpu>\n<pci busid=\"0000:01:00.0\"");
    folder_.write("other.json", "{\"schema\": \"osora.plan/1\"}");
    folder_.write("words.txt", "hello\n");
    auto const refused = [](std::string const& source) {
        auto const ran = run(topology_show_command(), {source});
        EXPECT_EQ(ran.code, 2) << source;
        return ran.err;
    };
    EXPECT_THAT(refused(path("none")), HasSubstr("no such file or folder"));
    EXPECT_THAT(refused(path("empty")), HasSubstr("neither a root (with sys/ or proc/)"));
    EXPECT_THAT(refused(path("cut.xml")), HasSubstr("cut.xml: line 3"));
    EXPECT_THAT(refused(path("other.json")), HasSubstr("osora.topology/1"));
    EXPECT_THAT(refused(path("words.txt")), HasSubstr("words.txt: neither NCCL's XML"));
    EXPECT_THAT(refused("synthetic:laef:2"), HasSubstr("did you mean leaf?"));
    EXPECT_EQ(run(topology_diff_command(), {path("nodes/n1")}).code, 2);
}

}  // namespace
}  // namespace osora::cli
