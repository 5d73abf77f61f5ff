// What a plan says of the loader: its memory, and what it assumes of clips.
#include "plan/planner.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string loader_error(PlanRequest const& r) {
    auto const decision = make_plan(r);
    EXPECT_TRUE(decision.has_error());
    if (decision) return {};
    EXPECT_EQ(decision.error().code, Errc::out_of_memory);
    return decision.error().message;
}

TEST(Planner, LoaderStaysInItsBudget) {
    PlanRequest r = request(2);
    r.clips = ClipStatistics{.buckets = {}, .clip_pixels_max = 1920 * 1080};
    r.config.data.host_memory_gib = 0.3;
    PlanDecision const decision = plan_of(r);
    EXPECT_LE(decision.chosen.num_workers, 2);
    r.config.data.num_workers = 8;
    EXPECT_THAT(loader_error(r), HasSubstr("num_workers "));
    // The limit in the message is of a rank: half of what is given.
    EXPECT_THAT(loader_error(r),
                HasSubstr("data.host_memory_gib = 0.3 for the 2 ranks of a node: loader needs"));
    EXPECT_THAT(loader_error(r), HasSubstr("the host memory limit is 154 MiB"));
}

TEST(Planner, SaysThatSizesOfClipsAreAssumed) {
    PlanRequest r = request(1);
    EXPECT_THAT(plan_of(r).reasons, Contains(HasSubstr("640 x 360 assumed: osora data index")));
    r.clips = ClipStatistics{.buckets = {}, .clip_pixels_max = 1920 * 1080};
    EXPECT_THAT(plan_of(r).reasons, Not(Contains(HasSubstr("640 x 360 assumed"))));
}

}  // namespace
}  // namespace osora::plan
