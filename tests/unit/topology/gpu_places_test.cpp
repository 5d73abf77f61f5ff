#include "topology/gpu_places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class GpuPlaces : public ::testing::Test {
protected:
    void SetUp() override {
        root_ = testing::TempDir() + "osora-gpus-XXXXXX";
        ASSERT_NE(::mkdtemp(root_.data()), nullptr);
    }
    void TearDown() override { fs::remove_all(root_); }

    void add(std::string const& bus_id, std::string const& uuid, std::string const& cpus) {
        write(
            "proc/driver/nvidia/gpus/" + bus_id + "/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t " + uuid + "\nVideo BIOS: \t 96.00\n");
        write("sys/bus/pci/devices/" + bus_id + "/local_cpulist", cpus + "\n");
    }
    void write(std::string const& path, std::string const& text) {
        fs::create_directories((fs::path(root_) / path).parent_path());
        std::ofstream(fs::path(root_) / path) << text;
    }
    std::string root_;
};

std::vector<std::string> names(std::vector<GpuPlace> const& gpus) {
    std::vector<std::string> names;
    for (auto const& each : gpus) names.push_back(each.uuid);
    return names;
}

TEST_F(GpuPlaces, AreReadInTheOrderOfTheBus) {
    add("0000:9b:00.0", "GPU-bb", "2-3");
    add("0000:1b:00.0", "GPU-aa", "0-1");
    auto const gpus = read_gpu_places(root_);
    EXPECT_THAT(names(gpus), ElementsAre("GPU-aa", "GPU-bb"));
    EXPECT_THAT(gpus.at(1).near_cpus, ElementsAre(2, 3));
    EXPECT_THAT(read_gpu_places(root_ + "/nothing"), IsEmpty());
}

TEST_F(GpuPlaces, AreNamedAsInCudaVisibleDevices) {
    std::vector<GpuPlace> const gpus{
        {"0", "GPU-aa1", {}}, {"1", "GPU-aa2", {}}, {"2", "GPU-b", {}}};
    EXPECT_THAT(names(visible_gpus(gpus, "2,0")), ElementsAre("GPU-b", "GPU-aa1"));
    EXPECT_THAT(names(visible_gpus(gpus, "GPU-b,GPU-aa2")), ElementsAre("GPU-b", "GPU-aa2"));
    EXPECT_THAT(names(visible_gpus(gpus, "1,-1,0")), ElementsAre("GPU-aa2"));
    EXPECT_THAT(visible_gpus(gpus, "GPU-aa"), IsEmpty());
    EXPECT_THAT(visible_gpus(gpus, "7"), IsEmpty());
    EXPECT_THAT(visible_gpus(gpus, ""), IsEmpty());
}

}  // namespace
}  // namespace osora::topology
