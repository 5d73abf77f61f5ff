// The trainer on several machines: each rank is reached by its own node's address.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include "protocol/json.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class ClusterTraining : public SlurmTest {
protected:
    static void SetUpTestSuite() { open({.nodes = 4, .rate = "200mbit"}); }
    void SetUp() override {
        SlurmTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        set_variable(bed().environment(), "OSORA_WORKER", OSORA_BIN_DIR "/osora-worker");
        std::ofstream clips(folder_ / "clips.csv");
        clips << "path,text\n";
        for (int i = 0; i < 4; ++i) {
            auto const name = fmt::format("clip{}.mp4", i);
            auto const made = bed().run(
                "ctl", {"/usr/bin/ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        fmt::format("testsrc2=size=64x64:rate=12:duration=1,hue=h={}", 40 * i),
                        "-c:v", "libx264", "-pix_fmt", "yuv420p", (folder_ / name).string()});
            ASSERT_EQ(made.code, 0) << made.err;
            clips << name << ",\n";
        }
    }
};

TEST_F(ClusterTraining, ThreeNodesFindEachOther) {
    write_run_file({.nodes = 3, .ranks = 1, .steps = 6, .extra = "cpus_per_worker = 1\n"});
    auto const ended = osora({"submit", "run.toml"}, 120);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("\ndone     6 steps"));
    EXPECT_THAT(events<protocol::RankFailed>(), SizeIs(0)) << logs();
    EXPECT_THAT(events<protocol::RankStarted>(), SizeIs(3));
    EXPECT_THAT(events<protocol::MergedSteps>(), testing::Not(SizeIs(0)));
    EXPECT_TRUE(nothing_left());
}

/// Times of collectives are measured once, then used to plan similar nodes.
TEST_F(ClusterTraining, ProbeOfCollectivesServesThePlan) {
    write_run_file({.nodes = 4, .ranks = 1, .steps = 6, .extra = "cpus_per_worker = 1\n"});
    std::ofstream(folder_ / "rack.conf") << "SwitchName=east Nodes=n[0-1]\n"
                                            "SwitchName=west Nodes=n[2-3]\n"
                                            "SwitchName=top Switches=east,west\n";
    auto const probed = osora({"probe", "run.toml", "--nodes", "4", "--collectives", "--limit", "8",
                               "--topology", "rack.conf", "--json"},
                              120);
    ASSERT_EQ(probed.code, 0) << probed.out << probed.err;
    auto const answer = protocol::parse_json(probed.out);
    ASSERT_TRUE(answer.has_value()) << probed.out;
    EXPECT_THAT(answer->at("pairs").as_array(), testing::Not(testing::SizeIs(0)));
    EXPECT_EQ(answer->at("leaves").at(0), "east");
    EXPECT_EQ(answer->at("leaves").at(3), "west");
    std::set<std::int64_t> nodes;
    for (auto const& each : answer->at("collectives").as_array()) {
        EXPECT_EQ(each.at("backend"), "gloo");
        EXPECT_GT(each.at("time_us").to_number<double>(), 0);
        nodes.insert(each.at("nodes").as_int64());
    }
    EXPECT_EQ(nodes, (std::set<std::int64_t>{2, 4}));
    auto const parts = run("probe-0001").events<protocol::ProbePart>();
    ASSERT_THAT(parts, SizeIs(2)) << "links, then collectives";
    EXPECT_EQ(parts[1].part.at("collectives").as_array().size(),
              answer->at("collectives").as_array().size());
    auto const plan = osora({"plan", "run.toml", "--explain"});
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_THAT(plan.out, testing::HasSubstr("all_reduce as measured on 4 nodes"));
}

}  // namespace
}  // namespace osora::cluster
