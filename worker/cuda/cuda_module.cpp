// libosora_cuda.so: the only part of osora that links libtorch_cuda and NCCL.
#include "worker/cuda/cuda_module.hpp"

#include "worker/cuda/fused_kernels.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <chrono>
#include <map>
#include <mutex>

namespace osora::worker {
namespace {

int device_count() {
    return c10::cuda::device_count();
}

std::string device_name(int device) {
    cudaDeviceProp properties{};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    return properties.name;
}

void use_device(int device) {
    c10::cuda::set_device(static_cast<c10::DeviceIndex>(device));
}

void synchronize(int device) {
    use_device(device);
    c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).synchronize();
}

/// Asks the driver once: it takes a lock, and memory() is called several times a step.
std::int64_t total_bytes(int device) {
    static std::mutex mutex;
    static std::map<int, std::int64_t> known;
    std::lock_guard const lock(mutex);
    if (auto const found = known.find(device); found != known.end()) return found->second;
    use_device(device);
    std::size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return known[device] = static_cast<std::int64_t>(total);
}

CudaMemory memory(int device) {
    auto const stats =
        c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return {stats.allocated_bytes[kAll].current, stats.allocated_bytes[kAll].peak,
            stats.reserved_bytes[kAll].current, total_bytes(device), stats.num_alloc_retries};
}

void reset_peak(int device) {
    c10::cuda::CUDACachingAllocator::resetPeakStats(static_cast<c10::DeviceIndex>(device));
}

void empty_cache(int device) {
    use_device(device);
    c10::cuda::CUDACachingAllocator::emptyCache();
}

c10::intrusive_ptr<c10d::Backend> make_nccl_group(c10::intrusive_ptr<c10d::Store> store,
                                                  NcclGroupConfig const& config) {
    auto const options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = std::chrono::milliseconds(config.timeout_ms);
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(store), config.rank,
                                                             config.world_size, options);
    group->setBoundDeviceId(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(config.device)));
    return group;
}

int nccl_version() {
    int version = 0;
    ncclGetVersion(&version);
    return version;
}

}  // namespace
}  // namespace osora::worker

extern "C" osora::worker::CudaModule const* osora_cuda_module() {
    static osora::worker::CudaModule const module{osora::worker::kCudaModuleVersion,
                                                  osora::worker::nccl_version(),
                                                  &osora::worker::device_count,
                                                  &osora::worker::device_name,
                                                  &osora::worker::use_device,
                                                  &osora::worker::synchronize,
                                                  &osora::worker::memory,
                                                  &osora::worker::reset_peak,
                                                  &osora::worker::empty_cache,
                                                  &osora::worker::make_nccl_group,
                                                  &osora::worker::fused_cuda_kernels()};
    return &module;
}
