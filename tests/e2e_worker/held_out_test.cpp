// Held-out clips that cannot be evaluated.
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

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

/// Clips that cannot be read leave the evaluations out, once named, and cost the run nothing else.
TEST_F(HeldOut, ClipsThatCannotBeReadEndNoTraining) {
    make_clips(6, [](int i) { return i % 2 == 0 ? "64x64" : "96x64"; });
    std::ofstream(folder_ / "damaged.mp4") << "no video";
    std::ofstream(folder_ / "held.csv") << "path,text,num_frames,height,width,fps\n"
                                           "damaged.mp4,,12,64,64,12\n";
    auto damaged = job(1, 2);
    damaged.config.data.eval_manifest = "held.csv";
    damaged.config.eval.every = 1;
    damaged.config.eval.samples = 1;
    auto const ended = run(damaged, 1)[0];
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_EQ(ended.of("step").size(), 2u);
    EXPECT_TRUE(ended.of("evaluated").empty());
    auto const saved = ended.of("checkpoint");
    ASSERT_EQ(saved.size(), 1u);
    EXPECT_EQ(saved[0].at("step").as_int64(), 2);
    std::vector<std::string> skipped;
    for (auto const& notice : ended.of("notice"))
        if (notice.at("kind").as_string() == "evaluation_skipped")
            skipped.emplace_back(notice.at("detail").as_string());
    EXPECT_THAT(skipped, testing::ElementsAre(testing::HasSubstr("could be decoded")));
}

}  // namespace
}  // namespace osora::tests
