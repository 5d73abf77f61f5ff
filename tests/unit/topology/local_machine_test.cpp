#include "topology/local_machine.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

class Root : public ::testing::Test {
protected:
    void SetUp() override {
        root_ = fs::path(::testing::TempDir()) /
                ("machine-" + std::to_string(::getpid()) + "-" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::remove_all(root_);
    }
    void TearDown() override { fs::remove_all(root_); }
    void write(std::string const& path, std::string const& text) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    fs::path root_;
};

TEST(Quota, WholeCoresAtLeastOne) {
    EXPECT_EQ(quota_cores("400000 100000\n"), 4);
    EXPECT_EQ(quota_cores("150000 100000"), 1);
    EXPECT_EQ(quota_cores("50000 100000"), 1);
    for (char const* none : {"max 100000", "", "100000", "100000 0", "a b"}) {
        EXPECT_EQ(quota_cores(none), std::nullopt) << none;
    }
}

TEST(Memory, ReadsMemTotal) {
    EXPECT_EQ(total_memory_bytes("MemFree: 1 kB\nMemTotal:       16326412 kB\n"),
              std::int64_t{16326412} * 1024);
    EXPECT_EQ(total_memory_bytes("MemTotal: x kB\n"), std::nullopt);
    EXPECT_EQ(total_memory_bytes(""), std::nullopt);
}

TEST_F(Root, BareMachine) {
    write("proc/self/status", "Name:\tosora\nCpus_allowed_list:\t0-7\n");
    write("proc/meminfo", "MemTotal:       8388608 kB\n");
    write("proc/sys/kernel/hostname", "box\n");
    Node const node = read_local_machine(root_);
    EXPECT_EQ(node.name, "box");
    EXPECT_EQ(node.cores, 8);
    EXPECT_EQ(node.memory_bytes, std::int64_t{8} << 30);
    EXPECT_TRUE(node.gpus.empty());
}

TEST_F(Root, TheTightestLimitOfTheCgroupsCounts) {
    write("proc/self/status", "Cpus_allowed_list:\t0-7\n");
    write("proc/meminfo", "MemTotal:       8388608 kB\n");
    write("proc/self/cgroup", "0::/pod/job\n");
    write("sys/fs/cgroup/cpu.max", "max 100000\n");
    write("sys/fs/cgroup/pod/cpu.max", "300000 100000\n");
    write("sys/fs/cgroup/pod/memory.max", "2147483648\n");
    write("sys/fs/cgroup/pod/job/cpu.max", "max 100000\n");
    write("sys/fs/cgroup/pod/job/memory.max", "max\n");
    Node const node = read_local_machine(root_);
    EXPECT_EQ(node.cores, 3);
    EXPECT_EQ(node.memory_bytes, std::int64_t{2} << 30);
}

TEST_F(Root, OlderCgroupsLimitToo) {
    write("proc/self/status", "Cpus_allowed_list:\t0-7\n");
    write("proc/meminfo", "MemTotal:       8388608 kB\n");
    write("proc/self/cgroup", "4:memory:/slurm/job_7\n3:cpu,cpuacct:/slurm/job_7\n0::/\n");
    write("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "1073741824\n");
    write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n");
    write("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "200000\n");
    write("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "100000\n");
    write("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "-1\n");
    Node const node = read_local_machine(root_);
    EXPECT_EQ(node.cores, 2);
    EXPECT_EQ(node.memory_bytes, std::int64_t{1} << 30);
}

TEST_F(Root, GpusInTheOrderOfTheirAddresses) {
    write("proc/driver/nvidia/gpus/0000:65:00.0/information", "Model: \t\t NVIDIA B\nIRQ: 1\n");
    write("proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: \t\t NVIDIA A\n");
    Node const node = read_local_machine(root_);
    ASSERT_EQ(node.gpus.size(), 2u);
    EXPECT_EQ(node.gpus[0].name, "NVIDIA A");
    EXPECT_EQ(node.gpus[1].name, "NVIDIA B");
}

TEST(DriverFacts, GiveMemoryAndMissingNames) {
    Node node;
    node.gpus = {{"NVIDIA A", 0}, {"", 0}};
    Machine machine;
    machine.gpus.resize(2);
    machine.gpus[0].name = "another";
    machine.gpus[0].memory_bytes = std::int64_t{140} << 30;
    machine.gpus[1].name = "NVIDIA B";
    add_driver_facts(machine, node);
    EXPECT_EQ(node.gpus[0].name, "NVIDIA A");
    EXPECT_EQ(node.gpus[0].memory_bytes, std::int64_t{140} << 30);
    EXPECT_EQ(node.gpus[1].name, "NVIDIA B");
    EXPECT_EQ(node.gpus[1].memory_bytes, 0);
    machine.gpus.pop_back();  // which of the two it is cannot be told
    machine.gpus[0].memory_bytes = 1;
    add_driver_facts(machine, node);
    EXPECT_EQ(node.gpus[0].memory_bytes, std::int64_t{140} << 30);
}

TEST_F(Root, NothingReadableIsOneCore) {
    Node const node = read_local_machine(root_ / "missing");
    EXPECT_EQ(node.cores, 1);
    EXPECT_EQ(node.memory_bytes, 0);
}

}  // namespace
}  // namespace osora::topology
