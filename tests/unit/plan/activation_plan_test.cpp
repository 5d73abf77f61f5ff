// The planner's way to hold activations, against what fits beside it.
#include "plan/planner.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// From the cheapest on: as they are, int8 where it may be, attention again, all again, an error.
TEST(ActivationPlan, AreHeldAsCheaplyAsFits) {
    PlanRequest r = request(1);
    r.config.batch.global_batch_size = 1;
    r.config.bucket.resize(1);  // of others several samples a step, in smaller micro-batches
    r.config.memory.rank_memory_gib = 8;
    double const plain = plan_of(r).predicted.peak_memory_gib;
    EXPECT_EQ(plan_of(r).chosen.recompute, "none");
    auto const chosen = [&](double share) {
        r.config.memory.rank_memory_gib = share * plain;
        LayoutPlan const layout = plan_of(r).chosen;
        return layout.recompute + ", " + layout.activation_store;
    };
    EXPECT_EQ(chosen(1.001), "none, none");
    EXPECT_EQ(chosen(0.999), "selective, none");
    EXPECT_THAT(plan_of(r).reasons, Contains(HasSubstr("recompute selective")));
    r.config.memory.allow_lossy = true;
    EXPECT_EQ(chosen(0.999), "none, int8");
    r.config.memory.recompute = std::string("full");
    EXPECT_EQ(chosen(1.5), "full, none");
    EXPECT_THAT(plan_of(r).reasons, Contains("recompute full, activation store none: set by you"));
}

}  // namespace
}  // namespace osora::plan
