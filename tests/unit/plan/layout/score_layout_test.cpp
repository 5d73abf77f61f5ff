// Plans of score runs: threads, and the time of the list against a count by hand.
#include "plan/layout/score_layout.hpp"

#include "plan/listed_work.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>

namespace osora::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;

PlanRequest score_request(int ranks, std::vector<std::string> scores) {
    PlanRequest r = request(ranks);
    r.config.run.job = "score";
    r.config.score.output = "s.csv";
    r.config.score.scores = std::move(scores);
    r.config.bucket.clear();
    r.config.resources.cpus_per_worker = 2;
    r.calibration.decode_ms_per_megapixel = 5;
    return r;
}

TEST(ScorePlan, TimesCutsByAllFramesOfTheList) {
    auto r = score_request(2, {"cuts"});
    auto const listed = listed_work(
        "path,num_frames,height,width\na.mp4,100,1000,1000\nb.mp4,300,1000,1000\nc.mp4,,,\n", {});
    ASSERT_TRUE(listed);
    EXPECT_EQ(listed->rows, 3);
    EXPECT_EQ(listed->sized, 2);
    r.listed = *listed;
    auto const plan = plan_of(r);
    EXPECT_EQ(plan.chosen.dp_size, 2);
    EXPECT_EQ(plan.chosen.num_workers, 2);
    EXPECT_EQ(plan.predicted.clips, 3);
    // 200 megapixels a clip, 5 ms each, 3 clips, 4 threads.
    EXPECT_NEAR(plan.predicted.total_s, 200 * 5e-3 * 3 / 4, 1e-9);
    EXPECT_NEAR(plan.predicted.samples_per_s, 3 / plan.predicted.total_s, 1e-9);
    EXPECT_EQ(plan.predicted.step_time_s, 0);
    r.config.data.num_workers = {1};
    EXPECT_NEAR(plan_of(r).predicted.total_s, 200 * 5e-3 * 3 / 2, 1e-9);
}

TEST(ScorePlan, OneFrameOfAFilmIsFarBelowTheFilm) {
    auto r = score_request(1, {"brightness"});
    r.listed = *listed_work("path,num_frames,height,width\na.mp4,100000,1000,1000\n", {});
    r.config.score.frames = {1};
    double const one = plan_of(r).predicted.total_s;
    r.config.score.scores = {"cuts"};
    EXPECT_GT(plan_of(r).predicted.total_s, 100 * one);
    EXPECT_GT(one, 0);
}

TEST(ScorePlan, SaysWhyNoTimeIsPredicted) {
    auto r = score_request(1, {"motion"});
    EXPECT_EQ(plan_of(r).predicted.clips, 0);
    r.listed = *listed_work("path\na.mp4\n\"b.mp4\n", {});
    auto const plan = plan_of(r);
    EXPECT_EQ(plan.predicted.clips, 2);
    EXPECT_EQ(plan.predicted.total_s, 0);
    EXPECT_THAT(plan.reasons, Contains(HasSubstr("osora data index fills them in")));
    EXPECT_THAT(plan.reasons, Contains(HasSubstr("1 row of the list cannot be read")));
    EXPECT_TRUE(listed_work("", {}).has_error());
    r.listed = *listed_work("path,num_frames,height,width\na.mp4,100,1000,1000\n", {});
    EXPECT_GT(plan_of(r).predicted.total_s, 0);
    r.config.score.aesthetic = "a.pt";
    EXPECT_EQ(plan_of(r).predicted.total_s, 0);
    EXPECT_THAT(plan_of(r).reasons, Contains(HasSubstr("TorchScript models take is not known")));
}

}  // namespace
}  // namespace osora::plan
