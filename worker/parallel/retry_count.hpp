// Retries of a GPU's allocator that were not reported yet. One for a whole run: the device counts
// from the start of the process, over all stages.
#pragma once

#include "worker/parallel/device.hpp"

#include <cstdint>
#include <utility>

namespace osora::worker {

class RetryCount {
public:
    explicit RetryCount(Device const& device) : device_(device) {}

    [[nodiscard]] std::int64_t since_last() {
        auto const now = device_.alloc_retries();
        return now - std::exchange(reported_, now);
    }

private:
    Device device_;
    std::int64_t reported_ = 0;
};

}  // namespace osora::worker
