// What LibTorch and the libraries of a GPU throw, and what becomes of it. The texts are theirs.
#include "worker/train/step_boundary.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

template <class Exception>
Error error_of(std::string const& text) {
    auto const done = at_step_boundary("step 3", [&]() -> Result<int> {
        throw Exception({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, text);
    });
    return done.error();
}

TEST(StepBoundary, LibrariesOfAGpuRunOutOfMemoryToo) {
    std::vector<std::string> const texts{
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
        "[enforce fail] DefaultCPUAllocator: can't allocate memory"};
    for (std::string const& text : texts) {
        EXPECT_EQ(error_of<c10::Error>(text).code, Errc::out_of_memory) << text;
        EXPECT_TRUE(lacked_memory([&] { throw std::runtime_error(text); }).has_value()) << text;
    }
    std::string const nccl =
        "NCCL error in: ProcessGroupNCCL.cpp:3690, unhandled cuda error (run with NCCL_DEBUG=INFO "
        "for details), NCCL version 2.28.9\nncclUnhandledCudaError: Call to CUDA function "
        "failed.\nLast error:\nCuda failure 2 'out of memory'";
    EXPECT_EQ(error_of<c10::DistBackendError>(nccl).code, Errc::out_of_memory);
}

TEST(StepBoundary, OtherFailuresAreNoShortage) {
    Error const peer = error_of<c10::DistBackendError>("Connection closed by peer [10.0.0.2]");
    EXPECT_EQ(peer.code, Errc::unreachable);
    Error const gpu = error_of<c10::Error>("CUDA error: an illegal memory access was encountered");
    EXPECT_EQ(gpu.message, "LibTorch: CUDA error: an illegal memory access was encountered");
    EXPECT_TRUE(is_torch_failure(gpu));
    EXPECT_TRUE(is_torch_failure(Error(gpu).in("encode step 4")));
    EXPECT_THROW(static_cast<void>(lacked_memory([] { TORCH_CHECK(false, "no such shape"); })),
                 c10::Error);
    Error const other = at_step_boundary("step 3", []() -> Result<int> {
                            throw std::runtime_error("gone");
                        }).error();
    EXPECT_EQ(other.message, "step 3: gone");
    EXPECT_FALSE(is_torch_failure(other));
    EXPECT_FALSE(is_torch_failure(peer));
}

}  // namespace
}  // namespace osora::worker
