// The trainer itself on several machines: each rank is reached by its own node's address.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class ClusterTraining : public SlurmTest {
protected:
    static void SetUpTestSuite() { open({.nodes = 3}); }
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
    EXPECT_THAT(events<protocol::MetricChunk>(), testing::Not(SizeIs(0)));
    EXPECT_TRUE(nothing_left());
}

}  // namespace
}  // namespace osora::cluster
