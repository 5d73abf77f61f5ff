// Output of nvidia-smi on such machines; tests/data/topology/README.md names the sources of its
// matrices.
#include "topology/device_path.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/sources/read_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace osora::topology {
namespace {

using tests::RecordedTree;

Machine recorded(std::string_view name) {
    return read_machine(RecordedTree::named(name).root());
}

/// Row "GPU0 X PXB SYS ..." over PCIe alone, columns as path_matrix() orders them.
std::string row_of(Machine const& machine, std::size_t row) {
    PathMatrix const matrix = path_matrix(machine);
    std::ostringstream text;
    text << matrix.devices[row].label;
    for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
        bool const self = i == row;
        auto const& a = matrix.devices[row].address;
        text << ' ' << (self ? "X" : path_word(pci_path(machine, a, matrix.devices[i].address)));
    }
    return text.str();
}

TEST(DevicePaths, DgxA100) {  // GPU0-7, mlx5_0-9
    Machine const machine = recorded("dgx_a100");
    std::string const sys4 = " SYS SYS SYS SYS";
    EXPECT_EQ(row_of(machine, 0),
              "GPU0 X PXB SYS SYS" + sys4 + " PXB PXB SYS SYS" + sys4 + " SYS SYS");
    EXPECT_EQ(row_of(machine, 2),
              "GPU2 SYS SYS X PXB" + sys4 + " SYS SYS PXB PXB" + sys4 + " SYS SYS");
    EXPECT_EQ(row_of(machine, 5),
              "GPU5" + sys4 + " PXB X SYS SYS" + sys4 + " SYS SYS PXB PXB" + " SYS SYS");
    EXPECT_EQ(row_of(machine, 8),
              "mlx5_0 PXB PXB SYS SYS" + sys4 + " X PXB SYS SYS" + sys4 + " SYS SYS");
    EXPECT_EQ(row_of(machine, 12), "mlx5_4" + sys4 + sys4 + sys4 + " X PIX" + sys4);
}

TEST(DevicePaths, HgxH100) {  // GPU0-7, mlx5_0-8
    Machine const machine = recorded("hgx_h100");
    std::string const numa0 = " NODE NODE NODE SYS SYS SYS SYS";
    EXPECT_EQ(row_of(machine, 0), "GPU0 X" + numa0 + " NODE SYS PIX SYS NODE SYS NODE SYS NODE");
    EXPECT_EQ(row_of(machine, 3),
              "GPU3 NODE NODE NODE X SYS SYS SYS SYS NODE SYS NODE SYS NODE SYS NODE SYS PIX");
    EXPECT_EQ(row_of(machine, 4),
              "GPU4 SYS SYS SYS SYS X NODE NODE NODE SYS PIX SYS NODE SYS NODE SYS NODE SYS");
}

TEST(DevicePaths, BoxOfGpusOnPcie) {
    Machine machine = recorded("pcie_3090");
    // nvidia-smi of that machine counts its GPUs from the other socket on.
    std::rotate(machine.gpus.begin(), machine.gpus.end() - 1, machine.gpus.end());
    std::erase_if(machine.nics, [](Nic const&) { return true; });
    EXPECT_EQ(row_of(machine, 0), "GPU0 X SYS SYS SYS SYS");
    EXPECT_EQ(row_of(machine, 1), "GPU1 SYS X PHB NODE NODE");
    EXPECT_EQ(row_of(machine, 2), "GPU2 SYS PHB X NODE NODE");
    EXPECT_EQ(row_of(machine, 3), "GPU3 SYS NODE NODE X PHB");
    EXPECT_EQ(row_of(machine, 4), "GPU4 SYS NODE NODE PHB X");
}

TEST(DevicePaths, NvlinkBeatsPcie) {
    Machine machine = recorded("hgx_h100");
    for (auto& gpu : machine.gpus) gpu.nvlinks = {{"switch", 18}};
    auto const& gpus = machine.gpus;
    EXPECT_EQ(path_word(device_path(machine, gpus[0].address, gpus[7].address)), "NV18");
    machine.gpus[7].nvlinks[0].links = 17;  // one is down
    EXPECT_EQ(path_word(device_path(machine, gpus[0].address, gpus[7].address)), "NV17");
    machine.gpus[0].nvlinks = {{machine.gpus[1].address, 2}, {machine.gpus[1].address, 2}};
    EXPECT_EQ(path_word(device_path(machine, gpus[0].address, gpus[1].address)), "NV4");
    EXPECT_EQ(path_word(device_path(machine, gpus[0].address, gpus[2].address)), "NODE");
}

TEST(DevicePaths, WhatIsNotKnownIsSaid) {
    Machine machine;
    EXPECT_EQ(path_word(pci_path(machine, "", "")), "?");
    EXPECT_EQ(path_word(pci_path(machine, "0000:01:00.0", "0000:02:00.0")), "?");
    machine.pci.resize(2);  // a loop
    machine.pci[0].address = machine.pci[1].parent = "0000:01:00.0";
    machine.pci[1].address = machine.pci[0].parent = "0000:02:00.0";
    EXPECT_EQ(path_word(pci_path(machine, "0000:01:00.0", "0000:09:00.0")), "?");
}

}  // namespace
}  // namespace osora::topology
