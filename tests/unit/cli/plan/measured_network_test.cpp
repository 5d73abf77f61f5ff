#include "cli/plan/measured_network.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'800'000'000'000'000;
constexpr std::int64_t kHour_us = 3'600'000'000;

class MeasuredNetworkTest : public testing::Test {
protected:
    MeasuredNetworkTest() {
        fs::create_directories(state_ / "probes");
        context_.environment = {"OSORA_STATE_DIR=" + state_.string()};
        config_.resources.backend = "slurm";
        config_.resources.nodes = 2;
    }
    ~MeasuredNetworkTest() override { fs::remove_all(state_); }

    struct Kept {
        std::vector<std::string> nodes{"n0", "n1"};
        double hours = 1;
        bool collectives = false;
        std::string backend = "slurm";
    };
    void keep(std::string const& name, Kept const& kept) {
        topology::ProbeResult probe;
        probe.nodes = kept.nodes;
        probe.backend = kept.backend;
        probe.source = name;
        probe.wall_us = kNow - static_cast<std::int64_t>(kept.hours * kHour_us);
        if (kept.collectives) {
            probe.collectives.push_back({.backend = "gloo", .collective = "all_reduce"});
            probe.collectives_wall_us = probe.wall_us;
        }
        ASSERT_TRUE(write_file_atomic(state_ / "probes" / (name + ".json"), protocol::encode(probe))
                        .has_value());
    }
    std::string found(bool gpu = false) {
        auto const network = measured_network(context_, config_, gpu, kNow);
        return network ? network->result.source + ": " + network->source : "none";
    }

    fs::path state_ = fs::path(testing::TempDir()) / fmt::format("networks-{}", ::getpid());
    Context context_;
    plan::RunConfig config_;
};

TEST_F(MeasuredNetworkTest, IsTheNewestAndOneWithCollectivesBeforeOthers) {
    EXPECT_EQ(found(), "none");
    keep("old", {.hours = 5});
    keep("new", {.hours = 2});
    EXPECT_EQ(found(), "new: 2 nodes, 2 h 00 min ago");
    keep("timed", {.hours = 9, .collectives = true});
    EXPECT_EQ(found(), "timed: 2 nodes, 9 h 00 min ago");
    EXPECT_EQ(found(true), "new: 2 nodes, 2 h 00 min ago") << "Gloo says nothing of NCCL";
}

TEST_F(MeasuredNetworkTest, IsOfTheRunsOwnKindOfNodes) {
    keep("ssh", {.backend = "ssh"});
    keep("ancient", {.hours = 31 * 24});
    keep("future", {.hours = -1});
    EXPECT_EQ(found(), "none");
    config_.resources.backend = "ssh";
    config_.ssh.hosts = {"n0", "n1 slots=2"};
    EXPECT_EQ(found(), "ssh: 2 nodes, 1 h 00 min ago");
    config_.ssh.hosts = {"n0", "n7"};
    EXPECT_EQ(found(), "none");
    config_.resources.nodes = 1;
    EXPECT_EQ(found(), "none");
}

TEST_F(MeasuredNetworkTest, InsideAJobItsNodesCount) {
    keep("others", {.nodes = {"n2", "n3"}});
    EXPECT_EQ(found(), "others: 2 nodes, 1 h 00 min ago");
    set_variable(context_.environment, "SLURM_JOB_NODELIST", "n[0-1]");
    EXPECT_EQ(found(), "none");
    keep("these", {.hours = 3});
    EXPECT_EQ(found(), "these: 2 nodes, 3 h 00 min ago");
}

TEST_F(MeasuredNetworkTest, BrokenFilesAreLeftOut) {
    keep("good", {});
    for (std::string const text : {"", "{", "[]", "{\"nodes\": 7}", "null"}) {
        ASSERT_TRUE(write_file_atomic(state_ / "probes" / "bad.json", text).has_value());
        EXPECT_EQ(found(), "good: 2 nodes, 1 h 00 min ago") << text;
    }
}

}  // namespace
}  // namespace osora::cli
