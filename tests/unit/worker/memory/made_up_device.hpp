// A device of LibTorch whose memory is the host's and whose operators are the CPU's. What matters
// here is what LibTorch does for every device other than the CPU: gradients of its tensors are
// computed on a thread of the device; and copies on other streams than the first one happen when
// somebody waits for them, not before. A program that contains made_up_device.cpp has it.
#pragma once

#include <c10/core/Device.h>

namespace osora::worker {

inline constexpr auto kMadeUp = c10::DeviceType::PrivateUse1;

[[nodiscard]] inline c10::Device made_up_device() {
    return {kMadeUp, 0};
}

/// Does what waits. Copies on other streams since the start, and those whose memory on the device
/// was gone when they happened.
struct SideCopyCounts {
    int done = 0, lost = 0;
};
[[nodiscard]] SideCopyCounts side_copy_counts();

}  // namespace osora::worker
