// Held-out clips of a training that cannot be evaluated.
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <string>

namespace osora::tests {
namespace {

using HeldOut = WorkerTest;

/// They would evaluate other clips, and with divided parameters miss each other's collectives.
TEST_F(HeldOut, RanksThatReadOthersAreNamed) {
    make_clips(6, [](int i) { return i % 2 == 0 ? "64x64" : "96x64"; });
    std::ofstream(folder_ / "held.csv") << "path,text\n\"clip 0.mp4\",\n\"clip 1.mp4\",\n";
    std::ofstream(folder_ / "other.csv") << "path,text\n\"clip 0.mp4\",\n\"clip 2.mp4\",\n";
    auto both = job(2, 4);
    both.config.data.eval_manifest = "held.csv";
    both.config.eval.every = 2;
    both.config.eval.samples = 2;
    job_of_rank_ = [&](int rank) {
        auto own = both;
        if (rank == 1) own.config.data.eval_manifest = "other.csv";
        return own;
    };
    for (auto const& rank : run(both, 2)) {
        EXPECT_EQ(rank.exit_code, 13);
        EXPECT_TRUE(rank.of("step").empty());
        ASSERT_FALSE(rank.of("failed").empty());
        EXPECT_THAT(std::string(rank.of("failed")[0].at("message").as_string()),
                    testing::HasSubstr("data.eval_manifest: ranks read other clips: "));
    }
}

/// The last step is saved although its evaluation ends the rank, and the agent hears of it.
TEST_F(HeldOut, ALastEvaluationThatFailsCostsNoCheckpoint) {
    make_clips(6, [](int i) { return i % 2 == 0 ? "64x64" : "96x64"; });
    std::ofstream(folder_ / "damaged.mp4") << "no video";
    std::ofstream(folder_ / "held.csv") << "path,text,num_frames,height,width,fps\n"
                                           "damaged.mp4,,12,64,64,12\n";
    auto failing = job(1, 2);
    failing.config.data.eval_manifest = "held.csv";
    failing.config.eval.every = 2;
    failing.config.eval.samples = 1;
    auto const ended = run(failing, 1)[0];
    EXPECT_EQ(ended.exit_code, 13);
    EXPECT_EQ(ended.of("step").size(), 2u);
    EXPECT_TRUE(ended.of("evaluated").empty());
    auto const saved = ended.of("checkpoint");
    ASSERT_EQ(saved.size(), 1u);
    EXPECT_EQ(saved[0].at("step").as_int64(), 2);
    ASSERT_FALSE(ended.of("failed").empty());
    EXPECT_THAT(std::string(ended.of("failed")[0].at("message").as_string()),
                testing::HasSubstr("could be decoded"));
}

}  // namespace
}  // namespace osora::tests
