// What a plan does about the sums of gradients that passes below fp32 keep between each other.
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two small images a step, on one rank, in passes of `micro_batch_size` of them.
PlanRequest two_images(std::optional<int> micro_batch_size) {
    PlanRequest r = request(1);
    r.config.bucket = {{"32", 1, 1.0, {}}};
    r.config.bucket[0].micro_batch_size.value = micro_batch_size;
    r.config.batch.global_batch_size = 2;
    r.config.optim.precision = "bf16";
    r.origins["optim.precision"] = {Layer::run, "r.toml", 9};
    r.config.memory.recompute.value = "none";
    return r;
}

// Sums of two passes take more than the activations of a second image: one pass fits where two do
// not, and the plan finds it.
TEST(PlannerSums, OnePassMayFitWhereSmallerOnesDoNot) {
    double const in_two = plan_of(two_images(1)).predicted.peak_memory_gib;
    double const in_one = plan_of(two_images(2)).predicted.peak_memory_gib;
    ASSERT_LT(in_one, in_two);
    double const between = (in_one + in_two) / 2;
    PlanRequest r = two_images({});
    r.config.memory.rank_memory_gib.value = between;
    EXPECT_EQ(plan_of(r).chosen.buckets.at(0).micro_batch_size, 2);
    r = two_images(1);
    r.config.memory.rank_memory_gib.value = between;
    auto const refused = make_plan(r);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::out_of_memory);
}

TEST(PlannerSums, AreSaidWhereAStepHasSeveralPasses) {
    auto const said = [](PlanRequest const& r) { return plan_of(r).reasons; };
    EXPECT_THAT(said(two_images(1)), Contains(HasSubstr("passes add up in fp32: ")));
    EXPECT_THAT(said(two_images(2)), Not(Contains(HasSubstr("add up in fp32"))));
    PlanRequest exact = two_images(1);
    exact.config.optim.precision = "fp32";
    EXPECT_THAT(said(exact), Not(Contains(HasSubstr("add up in fp32"))));
}

}  // namespace
}  // namespace osora::plan
