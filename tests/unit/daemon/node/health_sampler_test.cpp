// The sampler on a fake root and a fake driver with two GPUs, and the driver's library by itself.
#include "daemon/node/health_sampler.hpp"

#include "tests/kit/patience.hpp"
#include "topology/live/nvml.hpp"
#include "topology/node_load.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cmath>
#include <fstream>

namespace osora::daemon {
namespace {

using namespace protocol;
using testing::ElementsAre;

constexpr char const* kFake = OSORA_FAKE_NVML;

/// As tests/kit/fake_nvml.c has it.
struct FakeGpu {
    int lost, xid;
    unsigned temperature_c, power_mw, sm_mhz;
    unsigned long long throttle, ecc, used;
};

class Sampler : public testing::Test {
protected:
    void SetUp() override {
        root_ = testing::TempDir() + "osora-health-XXXXXX";
        ASSERT_NE(::mkdtemp(root_.data()), nullptr);
        library_ = ::dlopen(kFake, RTLD_NOW);
        ASSERT_NE(library_, nullptr) << ::dlerror();
    }
    void TearDown() override {
        std::filesystem::remove_all(root_);
        ::dlclose(library_);
    }
    template <class Function>
    Function* function(char const* name) const {
        return reinterpret_cast<Function*>(::dlsym(library_, name));
    }
    [[nodiscard]] FakeGpu& gpu(int index) const {
        return *function<FakeGpu*(int)>("fake_nvml_gpu")(index);
    }
    [[nodiscard]] int users() const { return function<int()>("fake_nvml_inits")(); }
    void write(std::string const& path, std::string const& text) const {
        auto const file = std::filesystem::path(root_) / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    /// One sample; a failed test when none comes.
    NodeHealth sample(std::string const& nvml) {
        NodeHealth health;
        boost::asio::io_context context;
        bool came = false;
        HealthSampler sampler({.root = root_, .run_dir = root_, .nvml = nvml},
                              context.get_executor(), [&](NodeHealth each) {
                                  health = std::move(each);
                                  came = true;
                                  context.stop();
                              });
        sampler.sample();
        auto const work = boost::asio::make_work_guard(context);
        context.run_for(std::chrono::seconds(static_cast<int>(tests::kPatience_s)));
        EXPECT_TRUE(came);
        return health;
    }
    std::string root_;
    void* library_ = nullptr;
};

TEST_F(Sampler, ReadsTheMachine) {
    write("proc/loadavg", "1.25 1.00 0.50 2/300 4242\n");
    write("proc/meminfo", "MemTotal:  4096 kB\nMemAvailable:   1024 kB\n");
    write("proc/self/cgroup", "0::/job_7\n");
    write("sys/fs/cgroup/job_7/memory.current", "777\n");
    auto const health = sample("/nothing/libnvidia-ml.so.1");
    EXPECT_EQ(health.load, 1.25);
    EXPECT_EQ(health.memory_available_bytes, 1 << 20);
    EXPECT_EQ(health.cgroup_memory_bytes, 777);
    EXPECT_GT(health.disk_free_bytes, 0);
    EXPECT_TRUE(health.gpus.empty());
}

TEST_F(Sampler, ReadsTheGpus) {
    gpu(1).throttle = 0x40;
    gpu(0).xid = 79;
    auto const health = sample(kFake);
    EXPECT_TRUE(std::isnan(health.load)) << "there is no /proc in this root";
    ASSERT_EQ(health.gpus.size(), 2u);
    EXPECT_EQ(health.gpus[0].temperature_c, 55);
    EXPECT_EQ(health.gpus[0].power_w, 400.5);
    EXPECT_EQ(health.gpus[0].sm_mhz, 1755);
    EXPECT_EQ(health.gpus[0].memory_used_bytes, 1 << 30);
    EXPECT_THAT(health.gpus[0].xids, ElementsAre(79));
    EXPECT_EQ(health.gpus[1].ecc_uncorrected, 3);
    EXPECT_EQ(health.gpus[1].throttle_reasons, kThrottleThermalHardware);
    EXPECT_THAT(health.gpus[1].xids, ElementsAre());
    EXPECT_EQ(users(), 0) << "NVML is shut down";
}

TEST_F(Sampler, AGpuThatFellOffTheBusIsLeftOutButItsXidIsReported) {
    auto const nvml = topology::open_nvml(kFake);
    ASSERT_NE(nvml, nullptr);
    gpu(0).lost = 1;
    auto readings = nvml->read();
    ASSERT_EQ(readings.size(), 1u);
    EXPECT_EQ(readings[0].index, 1);
    gpu(0).xid = 79;
    readings = nvml->read();
    ASSERT_EQ(readings.size(), 2u);
    EXPECT_EQ(readings[1].index, 0);
    EXPECT_THAT(readings[1].xids, ElementsAre(79));
    gpu(0).lost = 0;
    EXPECT_EQ(nvml->read().size(), 2u);
}

TEST_F(Sampler, EndsBeforeItsAnswerCame) {
    boost::asio::io_context context;
    {
        HealthSampler sampler({.root = root_, .run_dir = root_, .nvml = kFake},
                              context.get_executor(),
                              [](NodeHealth const&) { ADD_FAILURE() << "called after its end"; });
        sampler.sample();
    }
    context.poll();  // its thread has ended: its last sample is here
}

TEST(NodeLoad, ReadsWhatTheKernelWrites) {
    EXPECT_EQ(topology::load_of("0.52 0.41 0.30 1/523 4242\n"), 0.52);
    EXPECT_EQ(topology::load_of(""), std::nullopt);
    EXPECT_EQ(topology::load_of("-1"), std::nullopt);
    EXPECT_EQ(topology::available_memory_bytes("MemFree: 1 kB\nMemAvailable: 2 kB\n"), 2048);
    EXPECT_EQ(topology::available_memory_bytes("MemFree: 1 kB\n"), std::nullopt);
    EXPECT_EQ(topology::available_memory_bytes("MemAvailable: 99999999999999999 kB"), std::nullopt);
}

}  // namespace
}  // namespace osora::daemon
