// Failures of GPUs in what programs print: the texts of cudaGetErrorString (CUDA 12 and 13,
// docs.nvidia.com/cuda/cuda-runtime-api, cudaError_t) in messages of LibTorch, NCCL and others.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora::protocol {

struct RankFailed;

enum class GpuFailure {
    none,      // or an error of the program only: a failed assertion, a wrong argument
    crash,     // an illegal address, a failed launch: of the program or of the GPU
    hardware,  // memory, NVLink, a GPU without answer: another host would do
};

struct GpuFailureFound {
    GpuFailure kind = GpuFailure::none;
    std::string_view what = {};  // "uncorrectable ECC error encountered"; static
};

/// The worst failure that a line of `text` names beside the word CUDA, cuDNN or cuBLAS, in any
/// case.
[[nodiscard]] GpuFailureFound find_gpu_failure(std::string_view text);

/// The hardware failure that the message or the last output of the rank names, else "".
[[nodiscard]] std::string hardware_fault_of(RankFailed const& failed);

}  // namespace osora::protocol
