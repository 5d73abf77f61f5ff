// A device whose queue is a number: events note how much was queued, and waiting moves its clock
// on.
#include "worker/train/step_laps.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace osora::worker {
namespace {

using c10::Device;
using c10::Stream;

constexpr auto kType = c10::DeviceType::PrivateUse1;

struct Queue {
    double queued_ms = 0, done_ms = 0;
    int waits = 0;
    std::deque<double> events = {};  // how much was queued when each was recorded, ms
};
Queue queue;

class QueueGuard final : public c10::impl::DeviceGuardImplInterface {
public:
    static constexpr c10::DeviceType static_type = kType;
    [[nodiscard]] c10::DeviceType type() const override { return kType; }
    [[nodiscard]] Device exchangeDevice(Device device) const override { return device; }
    [[nodiscard]] Device getDevice() const override { return {kType, 0}; }
    void setDevice(Device /*device*/) const override {}
    void uncheckedSetDevice(Device /*device*/) const noexcept override {}
    [[nodiscard]] Stream getStream(Device device) const override {
        return Stream(Stream::DEFAULT, device);
    }
    [[nodiscard]] Stream exchangeStream(Stream stream) const override { return stream; }
    [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override { return 1; }

    void record(void** event, Stream const& /*stream*/, c10::DeviceIndex /*device*/,
                c10::EventFlag flag) const override {
        ASSERT_EQ(flag, c10::EventFlag::BACKEND_DEFAULT) << "others have no time";
        *event = &queue.events.emplace_back(queue.queued_ms);
    }
    [[nodiscard]] bool queryEvent(void* event) const override {
        return *static_cast<double*>(event) <= queue.done_ms;
    }
    void synchronizeEvent(void* event) const override {
        if (!queryEvent(event)) ++queue.waits;
        queue.done_ms = std::max(queue.done_ms, *static_cast<double*>(event));
    }
    [[nodiscard]] double elapsedTime(void* from, void* to,
                                     c10::DeviceIndex /*device*/) const override {
        return *static_cast<double*>(to) - *static_cast<double*>(from);
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, QueueGuard)

TEST(StepLaps, ADeviceIsReadWhenTheStepIsDone) {
    queue = {.queued_ms = 100};
    StepLaps laps(Device(kType, 0));
    auto const lap = [&](double ms, StepLaps::Part part) {
        queue.queued_ms += ms;
        laps.lap(part, 7);  // a device waits itself: this is the host's
    };
    for (int micro_batch = 0; micro_batch < 4; ++micro_batch) {
        lap(3, &StepOutput::forward_s);
        lap(5, &StepOutput::backward_s);
    }
    EXPECT_EQ(queue.waits, 0) << "passes are queued while others run";
    laps.wait();
    EXPECT_EQ(queue.waits, 1);
    EXPECT_EQ(queue.done_ms, 132);
    lap(2, &StepOutput::exposed_comm_s);
    StepOutput output;
    laps.add_to(output);
    EXPECT_DOUBLE_EQ(output.forward_s, 0.012);
    EXPECT_DOUBLE_EQ(output.backward_s, 0.020);
    EXPECT_DOUBLE_EQ(output.exposed_comm_s, 0.002);
    lap(4, &StepOutput::optimizer_s);
    laps.add_to(output);
    EXPECT_DOUBLE_EQ(output.optimizer_s, 0.004);
    EXPECT_DOUBLE_EQ(output.forward_s, 0.012);
    EXPECT_EQ(queue.waits, 3);
}

TEST(StepLaps, ACpusWaitingIsNoPartOfItsWork) {
    StepLaps laps(Device(c10::kCPU));
    laps.lap(&StepOutput::forward_s);
    laps.lap(&StepOutput::backward_s, 1e6);
    laps.wait();
    StepOutput output;
    laps.add_to(output);
    EXPECT_GE(output.forward_s, 0);
    EXPECT_LT(output.backward_s, 0) << "no lap here takes a million seconds";
    double const forward_s = output.forward_s;
    laps.add_to(output);
    EXPECT_EQ(output.forward_s, forward_s) << "each lap is added once";
}

}  // namespace
}  // namespace osora::worker
