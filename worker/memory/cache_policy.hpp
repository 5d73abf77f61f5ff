// When a rank returns the free blocks of its GPU's caching allocator to the device. Pure.
//
// Buckets of different shapes leave blocks of different sizes in the cache. If a bucket's peak does
// not fit beside them, the allocator itself empties its cache in the middle of a pass, once for
// each request that fails; between two steps one time is enough.
#pragma once

#include <cstdint>
#include <string>

namespace osora::worker {

struct CacheState {
    std::int64_t allocated_bytes = 0;  // of tensors
    std::int64_t reserved_bytes = 0;   // from the device: tensors and free blocks
    std::int64_t total_bytes = 0;      // of the device; 0: there is no cache (a CPU)
};

class CachePolicy {
public:
    /// Emptying takes at most this share of the time since the first step.
    static constexpr double kTimeShareMax = 0.002;
    /// Of the device; the rest is for contexts of CUDA and buffers of NCCL.
    static constexpr double kUsable = 0.92;

    /// Before a step of `bucket` whose tensors are to reach `peak_bytes` (the plan; 0: unknown),
    /// `elapsed_s` after the first step's start. True only when the bucket differs from the step
    /// before, and its peak may not fit beside the free blocks.
    [[nodiscard]] bool should_empty(std::string const& bucket, std::int64_t peak_bytes,
                                    CacheState const& now, double elapsed_s);
    void emptied(std::int64_t bytes, double seconds);

    [[nodiscard]] int times() const { return times_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    [[nodiscard]] double seconds() const { return seconds_; }

private:
    std::string bucket_;
    int times_ = 0;
    std::int64_t bytes_ = 0;
    double seconds_ = 0;
};

}  // namespace osora::worker
