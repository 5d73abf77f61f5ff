// A rehearsal against the training that it represents: two nodes with a slow link between them.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace osora::cluster {
namespace {

/// A node each with one CPU rank; at 50 Mbit/s the gradients of stdit3-tiny take most of a step.
class ClusterRehearsal : public SlurmTest {
protected:
    static void SetUpTestSuite() { open({.nodes = 2, .rate = "50mbit"}); }
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
        write_run_file({.nodes = 2,
                        .ranks = 1,
                        .steps = 30,
                        .more = "[parallel]\ngrad_bucket_mib = 1\n",
                        .extra = "cpus_per_worker = 1\n"});
    }

    /// Step time of a rehearsal over that of a training right before it.
    double rehearsed_over_trained(std::string const& collectives) {
        auto const set = "debug.collectives=" + collectives;
        auto const trained = osora({"submit", "run.toml", "--set", set}, 240);
        EXPECT_EQ(trained.code, 0) << trained.out << trained.err;
        auto const rehearsed = osora({"rehearse", "run.toml", "--set", set, "--json"}, 240);
        EXPECT_EQ(rehearsed.code, 0) << rehearsed.out << rehearsed.err;
        auto const answer = protocol::parse_json(rehearsed.out);
        if (!answer.has_value()) return 0;
        EXPECT_EQ(answer->at("schema"), "osora.rehearse/1");
        EXPECT_EQ(answer->at("nodes"), 2);
        EXPECT_TRUE(answer->at("trained").at("alike").as_bool());
        double const ratio = answer->at("trained").at("rehearsed_over_trained").to_number<double>();
        RecordProperty("ratio_" + collectives, fmt::format("{:.3f}", ratio));
        return ratio;
    }
    /// The median of three, since other work on this machine spoils single runs.
    double ratio(std::string const& collectives) {
        std::array<double, 3> ratios{};
        for (double& each : ratios) each = rehearsed_over_trained(collectives);
        std::ranges::sort(ratios);
        return ratios[1];
    }
};

TEST_F(ClusterRehearsal, TakesAsLongAsTheTraining) {
    EXPECT_NEAR(ratio("bucketed"), 1, 0.10);
}

TEST_F(ClusterRehearsal, AlsoInTheKnownBadWay) {
    EXPECT_NEAR(ratio("per_parameter"), 1, 0.10);
}

/// One probe of sixteen nodes predicts the time of rehearsals on fewer of them. Their ranks sleep:
/// sixteen that compute would share the machine's two cores, as those of sixteen machines do not.
class PredictedRehearsal : public SlurmTest {
protected:
    static void SetUpTestSuite() { open({.nodes = 16, .leaf_size = 16, .rate = "100mbit"}); }
    void SetUp() override {
        SlurmTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        set_variable(bed().environment(), "OSORA_WORKER", OSORA_BIN_DIR "/osora-worker");
        write(16);
    }
    void write(int nodes) {
        write_run_file({.nodes = nodes,
                        .ranks = 1,
                        .steps = 30,
                        .more = "[parallel]\ngrad_bucket_mib = 1\n"
                                "[rehearse]\ncompute_s = 0.05\nown_work = \"sleep\"\n",
                        .extra = "cpus_per_worker = 1\n"});
    }
    /// The median of three, predicted over measured.
    double ratio(int nodes) {
        std::array<double, 3> ratios{};
        write(nodes);
        for (double& each : ratios) {
            auto const rehearsed =
                osora({"rehearse", "run.toml", "--set", "data.manifest=", "--json"}, 240);
            EXPECT_EQ(rehearsed.code, 0) << rehearsed.out << rehearsed.err;
            auto const answer = protocol::parse_json(rehearsed.out);
            if (!answer.has_value()) return 0;
            each = answer->at("predicted").at("step_s").to_number<double>() /
                   answer->at("step_s").to_number<double>();
        }
        std::ranges::sort(ratios);
        RecordProperty(fmt::format("nodes_{}", nodes), fmt::format("{:.3f}", ratios[1]));
        return ratios[1];
    }
};

TEST_F(PredictedRehearsal, TakesAsLongAsTheProbeSays) {
    auto const probed = osora({"probe", "run.toml", "--collectives"}, 240);
    // 1: it takes a node for slow, which 16 nodes on two cores may look like; not tested here.
    EXPECT_THAT(probed.code, testing::AnyOf(0, 1)) << probed.out << probed.err;
    for (int const nodes : {2, 4, 8, 16}) EXPECT_NEAR(ratio(nodes), 1, 0.15) << nodes << " nodes";
}

}  // namespace
}  // namespace osora::cluster
