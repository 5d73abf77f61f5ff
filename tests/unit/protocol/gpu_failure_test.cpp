#include "protocol/gpu_failure.hpp"

#include "protocol/journal/run_events.hpp"

#include <gtest/gtest.h>

namespace osora::protocol {
namespace {

using enum GpuFailure;

GpuFailure kind_of(std::string_view text) {
    return find_gpu_failure(text).kind;
}

// As PyTorch 2.11, NCCL 2.28 and XLA print what cudaGetErrorString of CUDA 13.0 and
// cuGetErrorName return.
TEST(GpuFailure, OfHardware) {
    for (char const* text :
         {"RuntimeError: CUDA error: uncorrectable ECC error encountered",
          "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the "
          "execution",
          "n3:77:90 [4] transport/net.cc:1211 NCCL WARN Cuda failure 214 'uncorrectable ECC error "
          "encountered'",
          "CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error",
          "CUDA error: hardware stack error",
          "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
          "INTERNAL: CUDA error: CUDA_ERROR_ECC_UNCORRECTABLE", "NVML: GPU is lost"}) {
        EXPECT_EQ(kind_of(text), hardware) << text;
    }
    EXPECT_EQ(find_gpu_failure("CUDA error: uncorrectable ECC error encountered").what,
              "uncorrectable ECC error encountered");
}

TEST(GpuFailure, OfAProgramOrHardware) {
    for (char const* text :
         {"CUDA error: an illegal memory access was encountered",
          "CUDA error: unspecified launch failure", "CUDA error: misaligned address",
          "CUDA error: an illegal instruction was encountered",
          "CUDA error: the launch timed out and was terminated",
          "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
          "CUDA error: unknown error", "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
          "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling x"}) {
        EXPECT_EQ(kind_of(text), crash) << text;
    }
}

TEST(GpuFailure, NotOfWhatTheProgramAloneCauses) {
    for (char const* text :
         {"", "CUDA error: device-side assert triggered", "CUDA error: invalid argument",
          "CUDA error: out of memory", "CUDA error: no CUDA-capable device is detected",
          "CUDA error: invalid device ordinal", "a file says: uncorrectable ECC error encountered",
          "trap: illegal instruction", "CUDA 13.0\nillegal instruction"}) {
        EXPECT_EQ(kind_of(text), none) << text;
    }
}

TEST(GpuFailure, TheWorstLineCounts) {
    EXPECT_EQ(kind_of("x\nCUDA error: unknown error\nCuda failure 'uncorrectable ECC error'\ny"),
              hardware);
}

TEST(GpuFailure, IsFoundInTheMessageAndInTheLastOutputOfARank) {
    RankFailed failed;
    EXPECT_EQ(hardware_fault_of(failed), "");
    failed.message = "Traceback";
    failed.tail = "CUDA error: hardware stack error\nTraceback\n";
    EXPECT_EQ(hardware_fault_of(failed), "hardware stack error");
    failed.message = "CUDA error: uncorrectable ECC error encountered";
    EXPECT_EQ(hardware_fault_of(failed), "uncorrectable ECC error encountered");
}

}  // namespace
}  // namespace osora::protocol
