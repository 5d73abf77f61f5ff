// The measurements of a GPU, on the CPU with a clock that advances by a second at each look.
#include "worker/jobs/calibrate/calibrate_gpu.hpp"

#include "plan/step_time.hpp"
#include "tests/unit/worker/train/failing_allocations.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace osora::worker {
namespace {

/// A run of any number of repetitions takes one second.
GpuWork small_work() {
    GpuWork work;
    work.rows = 8;
    work.inner_sizes = {4, 16};
    work.copied_bytes = 4096;
    work.operators = 50;
    work.reduced_bytes = 2048;
    work.runs = 2;
    work.repetitions = 5;
    work.steps = {{.arch = "stdit3-tiny", .resolution = "32", .num_frames = 1, .depth = 1}};
    work.now_s = [now = std::make_shared<std::atomic<int>>(0)] { return double(++*now); };
    return work;
}

TEST(CalibrateGpu, FiguresFollowFromTheTimesOfRepetitions) {
    auto const found = calibrate_gpu({Device()}, small_work());
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_TRUE(plan::check_calibration(*found).has_value());
    EXPECT_EQ(found->device, "gpu");
    EXPECT_TRUE(found->measured);
    EXPECT_EQ(found->machine.empty(), false);
    ASSERT_EQ(found->matmul.size(), 2u);
    // (8, 16) x (16, 64), five times in a second.
    EXPECT_DOUBLE_EQ(found->matmul[1].gflops, 5 * 2.0 * 8 * 16 * 64 / 1e9);
    EXPECT_EQ(found->matmul[1].size, 16);
    EXPECT_EQ(found->matmul[1].threads, 1);
    EXPECT_DOUBLE_EQ(found->launch_floor_us, 1e6 / 50);
    EXPECT_DOUBLE_EQ(found->memory_bandwidth_gbps, 5 * 2 * 4096 / 1e9);
    ASSERT_EQ(found->model_steps.size(), 1u);
    EXPECT_DOUBLE_EQ(found->model_steps[0].forward_backward_s, 1.0 / 3);
    EXPECT_EQ(found->model_steps[0].depth, 1);
    // One GPU: what two would take is nominal.
    EXPECT_EQ(found->all_reduce.a_s, plan::nominal_gpu().all_reduce.a_s);
}

TEST(CalibrateGpu, ThePlannerPredictsThePassThatWasMeasured) {
    auto const found = calibrate_gpu({Device()}, small_work());
    ASSERT_TRUE(found.has_value()) << found.error().message;
    auto query = plan::measured_query(found->model_steps.at(0), true);
    ASSERT_TRUE(query.has_value());
    EXPECT_EQ(query->shape.depth, 1);
    EXPECT_NEAR(plan::pass_time_s(*query, *found), 1.0 / 3, 1e-9);
}

TEST(CalibrateGpu, TwoDevicesReduceBetweenThem) {
    GpuWork work = small_work();
    work.steps.clear();
    work.now_s = {};
    auto const found = calibrate_gpu({Device(), Device()}, work);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_TRUE(plan::check_calibration(*found).has_value());
    EXPECT_EQ(found->all_reduce.ranks, 2);
    EXPECT_NE(found->all_reduce.a_s, plan::nominal_gpu().all_reduce.a_s);
}

// The thread of the test is rank 0: its peer must not be left in an all_reduce of smaller buffers.
TEST(CalibrateGpu, NeitherDeviceReducesWhenOneLacksMemory) {
    GpuWork work = small_work();
    work.steps.clear();
    work.reduced_bytes = std::int64_t{1} << 20;
    std::atomic<int> looks_of_peer = 0;
    auto const mine = std::this_thread::get_id();
    work.now_s = [&looks_of_peer, mine, now = std::make_shared<std::atomic<int>>(0)] {
        if (std::this_thread::get_id() != mine) ++looks_of_peer;
        return double(++*now);
    };
    FailingAllocations const failing({.first = 1, .end = 2, .bytes = std::size_t{1} << 20});
    auto const found = calibrate_gpu({Device(), Device()}, work);
    ASSERT_TRUE(found.has_error());
    EXPECT_EQ(found.error().code, Errc::out_of_memory);
    EXPECT_EQ(found.error().message, "calibrate: all_reduce: allocation 1 fails");
    EXPECT_EQ(looks_of_peer.load(), 0);
}

TEST(CalibrateGpu, TheUsualPassesAreOfModelsThatThePlannerKnows) {
    auto const work = usual_gpu_work();
    EXPECT_FALSE(work.steps.empty());
    for (auto const& step : work.steps) {
        EXPECT_TRUE(plan::measured_query(step, true).has_value()) << step.resolution;
    }
    GpuWork unknown = small_work();
    unknown.steps[0].arch = "stdit9";
    EXPECT_EQ(calibrate_gpu({Device()}, unknown).error().code, Errc::not_found);
}

TEST(CalibrateGpu, WithoutAModuleThereIsNoGpu) {
    auto const devices = gpus_to_calibrate("/nonexistent/libosora_cuda.so");
    ASSERT_TRUE(devices.has_value()) << devices.error().message;
    EXPECT_TRUE(devices->empty());
}

}  // namespace
}  // namespace osora::worker
