// The constants of the planner's formulas on a GPU, in bf16. Everything is timed between two
// synchronisations of the device, several repetitions at once; the best of several runs counts.
#pragma once

#include "base/result.hpp"
#include "plan/calibration.hpp"
#include "worker/parallel/device.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

namespace osora::worker {

/// What is measured; the defaults saturate a data-centre GPU for a minute and need 10 GiB of it.
struct GpuWork {
    int rows = 16'384;                                       // of matrix products
    std::vector<int> inner_sizes = {256, 1024, 2048, 4096};  // (rows, size) x (size, 4 size)
    std::int64_t copied_bytes = std::int64_t{1} << 30;       // of one buffer to another
    int operators = 2'000;                                   // launched one after the other
    std::int64_t reduced_bytes = std::int64_t{256} << 20;    // of the larger all_reduce
    int runs = 5, repetitions = 10;                          // in a run
    std::vector<plan::ModelStep> steps;                      // without their times
    std::function<double()> now_s = {};                      // none: the steady clock
};
/// With passes of four pairs of STDiT3-XL/2's blocks, as large as those that the planner predicts.
[[nodiscard]] GpuWork usual_gpu_work();

/// A calibration with device "gpu", without the cost of decoding. The first of `devices` is
/// measured; all_reduce between the first two, if there are two, else it is nominal. Errors:
/// not_found for a step's model, io with what LibTorch said, as when the GPU lacks memory.
[[nodiscard]] Result<plan::Calibration> calibrate_gpu(std::vector<Device> const& devices,
                                                      GpuWork const& work);

/// The GPUs that ranks of this machine would use first, at most two; empty: CPU ranks.
[[nodiscard]] Result<std::vector<Device>> gpus_to_calibrate(std::filesystem::path const& module);

}  // namespace osora::worker
