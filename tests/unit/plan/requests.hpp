// Requests for plans of a small machine.
#pragma once

#include "plan/planner.hpp"

#include <gtest/gtest.h>

namespace osora::plan {

inline PlanRequest request(int ranks) {
    PlanRequest r;
    r.config.resources.gpus_per_node = ranks;
    r.config.data.manifest = "clips.csv";
    r.config.bucket = {{"48", 4, 0.6, {}}, {"32", 8, 0.6, {}}, {"32", 1, 1.0, {}}};
    r.cluster.nodes = {{"box", 2, std::int64_t{8} << 30, {}}};
    r.calibration = nominal_cpu();
    return r;
}

inline PlanDecision plan_of(PlanRequest const& r) {
    auto decision = make_plan(r);
    EXPECT_TRUE(decision.has_value()) << (decision ? "" : decision.error().message);
    return decision ? *decision : PlanDecision{};
}

}  // namespace osora::plan
