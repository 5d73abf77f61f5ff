#include "worker/parallel/load_cuda.hpp"

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
