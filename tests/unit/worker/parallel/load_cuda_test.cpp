#include "worker/parallel/load_cuda.hpp"

#include "worker/cuda/cuda_module.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/retry_count.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

class LoadCuda : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-cuda-XXXXXX").string();
        root_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(root_); }
    fs::path root_;
};

TEST_F(LoadCuda, NoDriverMeansCpu) {
    auto const module = load_cuda(root_ / "libosora_cuda.so", root_);
    ASSERT_TRUE(module.has_value());
    EXPECT_EQ(*module, nullptr);
}

TEST_F(LoadCuda, WithoutADriverARankComputesOnTheCpu) {
    auto const device = Device::choose(root_ / "libosora_cuda.so", 3, root_);
    ASSERT_TRUE(device.has_value());
    EXPECT_FALSE(device->is_gpu());
    EXPECT_EQ(device->torch(), c10::Device(c10::kCPU));
    EXPECT_EQ(device->description(), "cpu");
    EXPECT_EQ(device->peak_allocated_bytes(), 0);
    device->synchronize();
}

/// A module that counts what is asked of it, in the place of libosora_cuda.so.
TEST(Device, TakesTheGpuOfItsLocalRank) {
    CudaModule module;
    module.nccl_version = 22809;
    static int emptied = -1;
    module.memory = [](int device) {
        return CudaMemory{.allocated_bytes = 50,
                          .peak_allocated_bytes = 100 + device,
                          .reserved_bytes = emptied == device ? 60 : 90,
                          .total_bytes = 200,
                          .alloc_retries = 4};
    };
    module.empty_cache = [](int device) { emptied = device; };
    module.device_name = [](int) -> std::string { return "NVIDIA H200"; };
    Device const device(module, 3);
    EXPECT_EQ(device.cache().reserved_bytes, 90);
    device.empty_cache();
    EXPECT_EQ(device.cache().reserved_bytes, 60);
    EXPECT_EQ(device.cache().total_bytes, 200);
    EXPECT_EQ(device.alloc_retries(), 4);
    EXPECT_TRUE(device.is_gpu());
    EXPECT_EQ(device.torch(), c10::Device(c10::kCUDA, 3));
    EXPECT_EQ(device.peak_allocated_bytes(), 103);
    EXPECT_EQ(device.description(), "cuda:3, NVIDIA H200, NCCL 2.28.9");
}

/// Stages of a run report theirs one after the other.
TEST(Device, RetriesOfTheAllocatorAreReportedOnce) {
    CudaModule module;
    static std::int64_t retries = 0;
    module.memory = [](int) {
        CudaMemory memory;
        memory.alloc_retries = retries;
        return memory;
    };
    RetryCount count(Device(module, 0));
    std::int64_t reported = 0;
    for (std::int64_t const so_far : {4, 4, 7}) {
        retries = so_far;
        reported += count.since_last();
        EXPECT_EQ(reported, so_far);
    }
    EXPECT_EQ(RetryCount(Device{}).since_last(), 0);
}

TEST_F(LoadCuda, AGpuWithoutTheModuleIsAnErrorThatSaysWhatToDo) {
    fs::create_directories(root_ / "proc/driver/nvidia");
    std::ofstream(root_ / "proc/driver/nvidia/version") << "NVRM version: 580";
    auto const module = load_cuda(root_ / "libosora_cuda.so", root_);
    ASSERT_TRUE(module.has_error());
    EXPECT_EQ(module.error().code, Errc::invalid_input);
    EXPECT_NE(module.error().message.find("CUDA_VISIBLE_DEVICES="), std::string::npos);
}

}  // namespace
}  // namespace osora::worker
