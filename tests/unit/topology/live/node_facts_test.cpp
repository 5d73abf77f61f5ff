// NVML is tests/kit/fake_nvml.c, the files are a recorded machine.
#include "topology/live/node_facts.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/device_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using tests::RecordedTree;

TEST(NodeFacts, NvmlKnowsWhatNoFileDoes) {
    auto const reported = read_nvml_gpus(OSORA_FAKE_NVML);
    EXPECT_EQ(reported.driver, "550.54.15");
    ASSERT_THAT(reported.gpus, SizeIs(2));
    MachineGpu const& gpu = reported.gpus[0];
    EXPECT_EQ(gpu.address, "0000:18:00.0");
    EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(gpu.uuid, "GPU-0000");
    EXPECT_EQ(gpu.memory_bytes, std::int64_t{80} << 30);
    EXPECT_EQ(gpu.compute_capability, 90);
    EXPECT_EQ(gpu.link, (PcieLink{32, 32, 16, 16}));
    EXPECT_THAT(gpu.nvlinks, ElementsAre(NvlinkPeer{"switch", 17}));  // one is down
    EXPECT_EQ(gpu.nvl_domain, "0000000000000000000000000000002a:7");
    EXPECT_EQ(reported.gpus[1].link.current_gt_s, 8);
    EXPECT_THAT(reported.gpus[1].nvlinks,
                ElementsAre(NvlinkPeer{"switch", 17}, NvlinkPeer{"0000:18:00.0", 1}));
    EXPECT_EQ(reported.gpus[1].nvl_domain, "");  // it has not joined
}

TEST(NodeFacts, WithoutALibraryThereIsNothing) {
    auto const reported = read_nvml_gpus("libno-such-library.so.1");
    EXPECT_THAT(reported.gpus, IsEmpty());
    EXPECT_EQ(reported.driver, "");
}

TEST(NodeFacts, DriverAndFilesTogether) {
    auto const tree = RecordedTree::named("hgx_h100");
    auto const facts = make_node_facts({.root = tree.root(), .nvml = OSORA_FAKE_NVML});
    Machine const machine = facts->read();
    ASSERT_THAT(machine.gpus, SizeIs(8));
    EXPECT_EQ(machine.gpus[0].uuid, "GPU-0000");
    EXPECT_EQ(machine.gpus[0].numa, 0);  // of the files
    EXPECT_EQ(machine.gpus[2].uuid, "GPU-b100b100-0000-0000-0000-000000000002");
    EXPECT_EQ(path_word(device_path(machine, "0000:18:00.0", "0000:2a:00.0")), "NV1");
    EXPECT_EQ(machine.cores, 112);
}

TEST(NodeFacts, CoresFillWhatFilesLack) {
    Machine machine;
    add_cores(machine, {{{0, 4}, 0, 0}, {{1, 5}, 0, 0}, {{2, 6}, 1, 1}, {{3, 7}, 1, 1}});
    EXPECT_EQ(machine.cores, 4);
    EXPECT_EQ(machine.sockets, 2);
    EXPECT_THAT(machine.numa, ElementsAre(NumaNode{0, "0-1,4-5", 0}, NumaNode{1, "2-3,6-7", 0}));
    Machine known = machine;
    add_cores(known, {{{0}, 0, 0}});
    EXPECT_EQ(known, machine);
}

}  // namespace
}  // namespace osora::topology
