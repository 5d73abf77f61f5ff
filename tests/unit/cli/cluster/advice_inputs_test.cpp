// Recorded trees, topologies and probes as inputs of osora nccl advise; bad ones are named.
#include "cli/cluster/advice_inputs.hpp"

#include "protocol/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AdviceFiles : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::path(testing::TempDir()) / ("advice_" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::string write(std::string const& file, std::string const& text) {
        fs::create_directories((folder_ / file).parent_path());
        std::ofstream(folder_ / file, std::ios::binary) << text;
        return (folder_ / file).string();
    }
    fs::path folder_;
};

TEST_F(AdviceFiles, AFolderOfTreesIsOneNodeEach) {
    for (std::string const node : {"n0", "n1"}) {
        write("nodes/" + node + "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,8\n");
        write("nodes/" + node + "/etc/nccl.conf", "NCCL_ALGO=Tree\n");
    }
    write("nodes/n1/proc/self/environ", std::string("HOME=/home/eva\0NCCL_DEBUG=INFO\0", 31));
    write("nodes/n1/home/eva/.nccl.conf", "NCCL_ALGO=Ring\n");
    write("nodes/n1/opt/microsoft/ndv5-topo.xml", "<system/>");
    write("nodes/README", "not a node");
    auto const facts = facts_below(folder_);
    ASSERT_TRUE(facts.has_value()) << facts.error().message;
    ASSERT_EQ(facts->machines.size(), 2u);
    EXPECT_EQ(facts->machines[1].name, "n1");
    EXPECT_EQ(facts->extras.at("n0").allowed_cpus, "0-3,8");
    EXPECT_EQ(facts->extras.at("n1").topology_file, "/opt/microsoft/ndv5-topo.xml");
    EXPECT_EQ(facts->inherited[0].settings.size(), 1u);
    ASSERT_EQ(facts->inherited[1].settings.size(), 3u);
    EXPECT_EQ(facts->inherited[1].settings[0].origin, "/home/eva/.nccl.conf:1");
    auto const one = facts_below(folder_ / "nodes/n0");
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one->machines.size(), 1u);
}

TEST_F(AdviceFiles, FoldersThatHoldNothing) {
    EXPECT_THAT(facts_below(folder_ / "none").error().message, HasSubstr("no such folder"));
    EXPECT_THAT(facts_below(folder_).error().message, HasSubstr("neither a recorded root"));
}

TEST_F(AdviceFiles, TopologiesAndProbes) {
    auto const good = read_topology_json(
        write("t.json", R"({"schema":"osora.topology/1","fabric":{},"machines":[{"name":"n0"}]})"));
    ASSERT_TRUE(good.has_value()) << good.error().message;
    EXPECT_EQ(good->machines[0].name, "n0");
    auto const probe = read_probe_json(
        write("p.json", R"({"schema":"osora.probe/1","result":{"nodes":["n0","n1"]}})"));
    ASSERT_TRUE(probe.has_value());
    EXPECT_EQ(probe->nodes.size(), 2u);
    EXPECT_TRUE(read_probe_json(write("q.json", R"({"nodes":["n0"]})")).has_value());
    struct Case {
        char const *text, *message;
    };
    for (auto const& [text, message] :
         {Case{"", "t.json"}, Case{"[]", "expected an object"}, Case{"{", "t.json"},
          Case{"{}", "no \"machines\""}, Case{R"({"machines":3})", "t.json"},
          Case{R"({"machines":[{"name":3}]})", "name"},
          Case{R"({"machines":[{"name":"a"},{"name":"a"}]})", "two machines called 'a'"}}) {
        auto const bad = read_topology_json(write("t.json", text));
        ASSERT_TRUE(bad.has_error()) << text;
        EXPECT_THAT(bad.error().message, HasSubstr(message)) << text;
    }
    EXPECT_THAT(read_probe_json(write("p.json", "{}")).error().message, HasSubstr("no \"nodes\""));
    EXPECT_TRUE(read_probe_json(write("p.json", R"({"nodes":[1]})")).has_error());
    EXPECT_EQ(read_probe_json((folder_ / "none").string()).error().code, Errc::not_found);
}

}  // namespace
}  // namespace osora::cli
