#include "worker/parallel/device.hpp"

#include "worker/cuda/cuda_module.hpp"
#include "worker/memory/counted_allocator.hpp"
#include "worker/parallel/load_cuda.hpp"

#include <fmt/format.h>

#include <exception>

namespace osora::worker {

Result<Device> Device::choose(std::filesystem::path const& module, int local_rank,
                              std::filesystem::path const& root) {
    OSORA_TRY(CudaModule const* const cuda, load_cuda(module, root));
    if (cuda == nullptr) return Device();
    try {
        int const count = cuda->device_count();
        if (local_rank >= count) {
            return Error{Errc::invalid_input,
                         fmt::format("local rank {}: this node shows {} GPU{}; "
                                     "resources.gpus_per_node: at most {}",
                                     local_rank, count, count == 1 ? "" : "s", count)};
        }
        cuda->use_device(local_rank);
    } catch (std::exception const& error) {
        return Error{Errc::invalid_input, fmt::format("GPU {}: {}", local_rank, error.what())};
    }
    return Device(*cuda, local_rank);
}

c10::Device Device::torch() const {
    if (!is_gpu()) return c10::Device(c10::kCPU);
    return {c10::kCUDA, static_cast<c10::DeviceIndex>(index_)};
}

void Device::synchronize() const {
    if (is_gpu()) cuda_->synchronize(index_);
}

std::int64_t Device::peak_allocated_bytes() const {
    if (is_gpu()) return cuda_->memory(index_).peak_allocated_bytes;
    auto const* const counted = CountedAllocator::installed();
    return counted != nullptr ? counted->peak_bytes() : 0;
}

std::int64_t Device::allocated_bytes() const {
    if (is_gpu()) return cuda_->memory(index_).allocated_bytes;
    auto const* const counted = CountedAllocator::installed();
    return counted != nullptr ? counted->allocated_bytes() : 0;
}

CacheState Device::cache() const {
    if (!is_gpu()) return {};
    auto const now = cuda_->memory(index_);
    return {now.allocated_bytes, now.reserved_bytes, now.total_bytes};
}

std::int64_t Device::alloc_retries() const {
    return is_gpu() ? cuda_->memory(index_).alloc_retries : 0;
}

void Device::empty_cache() const {
    if (is_gpu()) cuda_->empty_cache(index_);
}

void Device::reset_peak() const {
    auto* const counted = CountedAllocator::installed();
    if (is_gpu()) {
        cuda_->reset_peak(index_);
    } else if (counted != nullptr) {
        counted->reset_peak();
    }
}

std::string Device::description() const {
    if (!is_gpu()) return "cpu";
    int const nccl = cuda_->nccl_version;
    return fmt::format("cuda:{}, {}, NCCL {}.{}.{}", index_, cuda_->device_name(index_),
                       nccl / 10000, nccl / 100 % 100, nccl % 100);
}

}  // namespace osora::worker
