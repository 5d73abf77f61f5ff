#include "worker/train/step_laps.hpp"

#include <utility>

namespace osora::worker {

StepLaps::StepLaps(c10::Device device) : device_(device) {
    if (device.is_cpu()) return;
    guard_.emplace(device.type());
    begin_ = now_on_device();
}

c10::Event StepLaps::now_on_device() const {
    c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);  // with a time
    event.record(guard_->getStream(device_));
    return event;
}

void StepLaps::lap(Part part, double waited_s) {
    if (guard_) {
        laps_.push_back({.part = part, .end = now_on_device()});
        return;
    }
    auto const now = Clock::now();
    std::chrono::duration<double> const passed = now - std::exchange(last_, now);
    laps_.push_back({.part = part, .seconds = passed.count() - waited_s});
}

void StepLaps::wait() const {
    if (!laps_.empty() && laps_.back().end) laps_.back().end->synchronize();
}

void StepLaps::add_to(StepOutput& output) {
    constexpr double kMillisecond_s = 1e-3;
    wait();
    for (Lap& each : laps_) {
        if (each.end) {
            each.seconds = begin_->elapsedTime(*each.end) * kMillisecond_s;
            begin_ = std::move(each.end);
        }
        output.*each.part += each.seconds;
    }
    laps_.clear();
}

}  // namespace osora::worker
