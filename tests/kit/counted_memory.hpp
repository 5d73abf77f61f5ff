// Bytes that LibTorch's CPU allocator has given out on this thread while an object lives.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace osora::worker {

class CountedMemory {
public:
    /// The most bytes held at once since the object was made; what was freed before does not count.
    [[nodiscard]] std::int64_t peak_bytes() const { return counter_->peak; }
    [[nodiscard]] std::int64_t held_bytes() const { return counter_->held; }

private:
    struct Counter : c10::MemoryReportingInfoBase {
        void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t,
                               c10::Device) override {
            held += bytes;
            peak = std::max(peak, held);
        }
        [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
        std::int64_t held = 0;
        std::int64_t peak = 0;
    };
    std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
    c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

}  // namespace osora::worker
