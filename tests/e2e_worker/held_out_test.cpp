// Held-out clips of a training with several ranks.
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

}  // namespace
}  // namespace osora::tests
