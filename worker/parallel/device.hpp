// Where a rank computes: the CPU, or one GPU of its node through the module of worker/cuda. Every
// rank sees all GPUs of its node and uses the one of its LOCAL_RANK.
#pragma once

#include "base/result.hpp"
#include "worker/memory/cache_policy.hpp"

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace osora::worker {

struct CudaModule;

class Device {
public:
    Device() = default;  // the CPU
    Device(CudaModule const& cuda, int index) : cuda_(&cuda), index_(index) {}

    /// The GPU of `local_rank`, or the CPU if there is none. `module`: libosora_cuda.so.
    /// invalid_input: fewer GPUs than ranks, or an unusable GPU (load_cuda).
    [[nodiscard]] static Result<Device> choose(std::filesystem::path const& module, int local_rank,
                                               std::filesystem::path const& root = "/");

    [[nodiscard]] bool is_gpu() const { return cuda_ != nullptr; }
    [[nodiscard]] c10::Device torch() const;
    /// Waits for what this thread has queued on the GPU; nothing on the CPU. Throws c10::Error.
    void synchronize() const;
    /// Peak size of tensors on this rank's device since reset_peak(); on the CPU from
    /// CountedAllocator, 0 if it is not installed.
    [[nodiscard]] std::int64_t peak_allocated_bytes() const;
    [[nodiscard]] std::int64_t allocated_bytes() const;
    void reset_peak() const;
    /// Of the GPU's caching allocator; all 0 on the CPU.
    [[nodiscard]] CacheState cache() const;
    [[nodiscard]] std::int64_t alloc_retries() const;  // since the start; 0 on the CPU
    void empty_cache() const;                          // nothing on the CPU
    [[nodiscard]] std::string description() const;     // "cpu", "cuda:3, NVIDIA H200, NCCL 2.28.9"

    [[nodiscard]] CudaModule const* module() const { return cuda_; }
    [[nodiscard]] int index() const { return index_; }

private:
    CudaModule const* cuda_ = nullptr;
    int index_ = 0;
};

}  // namespace osora::worker
