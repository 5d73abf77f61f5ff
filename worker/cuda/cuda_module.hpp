// The interface of libosora_cuda.so. osora-worker links only libtorch_cpu, so that a CPU rank stays
// small; the module, which links libtorch_cuda and NCCL, is loaded if the machine has a GPU.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <string>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace osora::worker {

struct FusedKernels;

struct NcclGroupConfig {
    int rank = 0;
    int world_size = 1;
    int device = 0;  // of this rank: its LOCAL_RANK, every rank sees all GPUs of its node
    std::int64_t timeout_ms = 600'000;
};

struct CudaMemory {
    std::int64_t allocated_bytes = 0;
    std::int64_t peak_allocated_bytes = 0;  // since reset_peak()
    std::int64_t reserved_bytes = 0;
    std::int64_t total_bytes = 0;    // of the GPU
    std::int64_t alloc_retries = 0;  // since the start: the GPU had too little, cache given up
};

constexpr int kCudaModuleVersion = 4;

/// Functions may throw c10::Error; the caller is a boundary.
struct CudaModule {
    int version = kCudaModuleVersion;
    int nccl_version = 0;  // in NCCL's encoding: 22809
    int (*device_count)() = nullptr;
    std::string (*device_name)(int device) = nullptr;  // "NVIDIA H200"
    void (*use_device)(int device) = nullptr;
    void (*synchronize)(int device) = nullptr;  // this thread's stream of the device
    CudaMemory (*memory)(int device) = nullptr;
    void (*reset_peak)(int device) = nullptr;
    void (*empty_cache)(int device) = nullptr;  // waits for the device, returns free blocks to it
    c10::intrusive_ptr<c10d::Backend> (*make_nccl_group)(c10::intrusive_ptr<c10d::Store> store,
                                                         NcclGroupConfig const& config) = nullptr;
    FusedKernels const* fused_kernels = nullptr;  // worker/model/fused
};

}  // namespace osora::worker

/// The one symbol of the module.
extern "C" osora::worker::CudaModule const* osora_cuda_module();
