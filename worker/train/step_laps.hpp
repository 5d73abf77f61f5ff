// Seconds of the parts of a training step on this rank's device.
#pragma once

#include "worker/train/training_step.hpp"

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace osora::worker {

/// On a CPU, times of the steady clock. On another device, events of this thread's stream: the host
/// queues on, and the times are read when it has waited anyway.
class StepLaps {
public:
    using Part = double StepOutput::*;

    /// The first lap begins here.
    explicit StepLaps(c10::Device device);

    /// What was done (on a device: queued) since the last lap belongs to `part`. `waited_s`: of
    /// that, what the host waited for other ranks, which counts for no part; a device waits itself.
    void lap(Part part, double waited_s = 0);
    /// Returns when the device has done all laps.
    void wait() const;
    /// Adds the laps since the last call to their parts; waits for them.
    void add_to(StepOutput& output);

private:
    using Clock = std::chrono::steady_clock;
    struct Lap {
        Part part;
        double seconds = 0;
        std::optional<c10::Event> end = {};  // of a device, whose seconds are read from it
    };
    [[nodiscard]] c10::Event now_on_device() const;

    c10::Device device_;
    std::optional<c10::impl::VirtualGuardImpl> guard_;  // of a device with streams
    Clock::time_point last_ = Clock::now();
    std::optional<c10::Event> begin_;  // of the first of laps_
    std::vector<Lap> laps_;            // not added yet
};

}  // namespace osora::worker
