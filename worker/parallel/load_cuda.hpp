// Finds a GPU and the module that drives it (worker/cuda). A GPU without a usable module is an
// error, never a silent fallback to the CPU: set CUDA_VISIBLE_DEVICES= to use the CPU.
#pragma once

#include "base/result.hpp"

#include <filesystem>

namespace osora::worker {

struct CudaModule;

/// nullptr: no NVIDIA driver here, or no visible device. invalid_input: there are devices, but the
/// module is missing or of another version. `module`: libosora_cuda.so.
[[nodiscard]] Result<CudaModule const*> load_cuda(std::filesystem::path const& module,
                                                  std::filesystem::path const& root = "/");

}  // namespace osora::worker
