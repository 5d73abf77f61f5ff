#include "plan/calibration.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace osora::plan {
namespace {

TEST(Calibration, NominalOnesPassTheirOwnCheck) {
    for (Calibration const& nominal : {nominal_cpu(), nominal_gpu()}) {
        EXPECT_TRUE(check_calibration(nominal).has_value());
        EXPECT_FALSE(nominal.measured);
    }
}

TEST(Calibration, ChecksNameTheField) {
    struct Case {
        std::function<void(Calibration&)> break_it;
        char const* message;
    };
    Case const cases[] = {
        {[](Calibration& c) { c.matmul.clear(); }, "calibration: matmul is empty"},
        {[](Calibration& c) { c.matmul[0].gflops = 0; },
         "calibration: matmul.gflops = 0: must be above 0"},
        {[](Calibration& c) { c.memory_bandwidth_gbps = -1; },
         "calibration: memory_bandwidth_gbps = -1: must be above 0"},
        {[](Calibration& c) { c.all_reduce.ranks = 1; },
         "calibration: all_reduce.ranks = 1: must be at least 2"},
        {[](Calibration& c) { c.device = "tpu"; }, "calibration: device 'tpu': must be cpu or gpu"},
        {[](Calibration& c) { c.model_steps.push_back({}); },
         "calibration: model_steps.forward_backward_s = 0: must be above 0"}};
    for (Case const& each : cases) {
        Calibration broken = nominal_cpu();
        each.break_it(broken);
        auto const checked = check_calibration(broken);
        ASSERT_TRUE(checked.has_error()) << each.message;
        EXPECT_EQ(checked.error().message, each.message);
    }
}

}  // namespace
}  // namespace osora::plan
