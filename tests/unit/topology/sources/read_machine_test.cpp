#include "topology/sources/read_machine.hpp"
#include "tests/kit/recorded_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using tests::RecordedTree;

TEST(ReadMachine, DgxA100) {
    auto const tree = RecordedTree::named("dgx_a100");
    Machine const machine = read_machine(tree.root(), "n7");
    EXPECT_EQ(machine.name, "n7");
    EXPECT_EQ(machine.source, "sysfs:" + tree.root().string());
    EXPECT_EQ(machine.cpu_vendor, "AuthenticAMD");
    EXPECT_EQ(machine.cpu_model, "AMD EPYC 7742 64-Core Processor");
    EXPECT_EQ(machine.cpu_arch, "x86_64");
    EXPECT_EQ(machine.sockets, 2);
    EXPECT_EQ(machine.cores, 128);
    EXPECT_EQ(machine.kernel, "5.15.0-1042-nvidia");
    EXPECT_EQ(machine.gpu_driver, "535.129.03");
    EXPECT_TRUE(machine.nvswitch);
    ASSERT_THAT(machine.numa, SizeIs(8));
    EXPECT_EQ(machine.numa[3], (NumaNode{3, "48-63,176-191", 132000000LL * 1024}));
    ASSERT_THAT(machine.gpus, SizeIs(8));
    EXPECT_EQ(machine.gpus[0].address, "0000:07:00.0");
    EXPECT_EQ(machine.gpus[0].name, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(machine.gpus[0].uuid, "GPU-a100a100-0000-0000-0000-000000000000");
    EXPECT_EQ(machine.gpus[0].numa, 3);
    EXPECT_EQ(machine.gpus[0].compute_capability, 80);
    EXPECT_EQ(machine.gpus[0].link, (PcieLink{16, 16, 16, 16}));
    ASSERT_THAT(machine.nics, SizeIs(11));  // 10 ports and lo
    Nic const& first = machine.nics[0];
    EXPECT_EQ(first.device, "mlx5_0");
    EXPECT_EQ(first.interface, "ibp12s0");
    EXPECT_EQ(first.kind, NicKind::infiniband);
    EXPECT_EQ(first.address, "0000:0c:00.0");
    EXPECT_EQ(first.driver, "mlx5_core");
    EXPECT_EQ(first.rate_gbit, 200);
    EXPECT_TRUE(first.up);
    EXPECT_EQ(first.firmware, "20.37.1700");
    EXPECT_EQ(first.mtu, 2044);
    EXPECT_THAT(first.gids, SizeIs(1));
    EXPECT_EQ(machine.nics[5].kind, NicKind::roce);
    EXPECT_EQ(machine.nics[10].interface, "lo");
    EXPECT_EQ(machine.nics[10].kind, NicKind::other);
    EXPECT_TRUE(machine.nics[10].up);
}

TEST(ReadMachine, AddressesOfInterfaces) {
    auto const tree = RecordedTree::named("hgx_h100");
    Machine const machine = read_machine(tree.root());
    EXPECT_EQ(machine.name, "hgx-h100");
    EXPECT_EQ(machine.nics[0].interface, "enp101s0np0");
    EXPECT_THAT(machine.nics[0].addresses, ElementsAre("10.0.0.4/24", "fe80::ba59:9fff:fe65:1/64"));
    EXPECT_EQ(machine.nics[0].gids[3],
              (Gid{3, "RoCE v2", "0000:0000:0000:0000:0000:ffff:0a00:0004"}));
    EXPECT_EQ(machine.nics[8].device, "mlx5_8");
    EXPECT_EQ(machine.nics[8].link, (PcieLink{32, 32, 16, 16}));
}

TEST(ReadMachine, LinksThatBecameFolders) {
    auto const tree = RecordedTree::named("cpu_server");
    Machine const machine = read_machine(tree.root());
    EXPECT_THAT(machine.gpus, IsEmpty());
    ASSERT_THAT(machine.nics, SizeIs(5));
    EXPECT_EQ(machine.nics[0].device, "mlx5_0");
    EXPECT_EQ(machine.nics[0].interface, "ens1f0np0");
    EXPECT_EQ(machine.nics[0].address, "0000:21:00.0");
    EXPECT_EQ(machine.nics[0].driver, "mlx5_core");
    EXPECT_EQ(machine.nics[0].master, "bond0");
    EXPECT_EQ(machine.nics[0].link, (PcieLink{16, 16, 8, 8}));
    EXPECT_EQ(machine.nics[1].interface, "ens1f1np1");
    EXPECT_EQ(machine.nics[2].interface, "bond0");
    EXPECT_EQ(machine.nics[2].driver, "bonding");
    EXPECT_EQ(machine.nics[2].address, "");
    EXPECT_EQ(machine.nics[2].rate_gbit, 50);
    EXPECT_THAT(machine.nics[2].addresses, ElementsAre("10.1.1.7/24"));
    EXPECT_EQ(machine.nics[3].interface, "docker0");
    EXPECT_EQ(machine.nics[3].driver, "bridge");
    EXPECT_FALSE(machine.nics[3].up);
    EXPECT_EQ(machine.nics[3].rate_gbit, 0);
    // Who is above whom: from the bus numbers of the bridge.
    ASSERT_THAT(machine.pci, SizeIs(3));
    EXPECT_EQ(machine.pci[1].address, "0000:21:00.0");
    EXPECT_EQ(machine.pci[1].parent, "0000:20:01.1");
}

TEST(ReadMachine, CloudMachine) {
    auto const tree = RecordedTree::named("cloud_vm");
    Machine const machine = read_machine(tree.root());
    ASSERT_THAT(machine.gpus, SizeIs(8));
    ASSERT_THAT(machine.nics, SizeIs(6));
    EXPECT_EQ(machine.nics[0].device, "rdmap16s27");
    EXPECT_EQ(machine.nics[0].kind, NicKind::efa);
    EXPECT_EQ(machine.nics[0].rate_gbit, 100);
    EXPECT_EQ(machine.nics[4].interface, "eth0");
    EXPECT_EQ(machine.nics[4].numa, -1);
    EXPECT_EQ(machine.nics[4].rate_gbit, 0);
    EXPECT_THAT(machine.nics[4].addresses, ElementsAre("10.0.0.12/20"));
}

TEST(ReadMachine, GarbageLeavesFieldsUnknown) {
    auto const tree = RecordedTree::named("dgx_a100");
    std::string const device = "sys/bus/pci/devices/0000:07:00.0/";
    tree.write(device + "current_link_speed", "Unknown\n");
    tree.write(device + "max_link_speed", "1e999 GT/s PCIe\n");
    tree.write(device + "current_link_width", "255\n");
    tree.write(device + "numa_node", "-1\n");
    tree.remove(device + "max_link_width");
    tree.write("proc/cpuinfo", std::string(5000, '\xff') + "\nphysical id : 99999999999\n");
    tree.write("proc/meminfo", "MemTotal: -5 kB\n");
    tree.write("sys/class/infiniband/mlx5_0/ports/1/rate", "-3 Gb/sec\n");
    tree.write("sys/class/infiniband/mlx5_1/ports/1/state", "");
    tree.write("sys/class/net/ibp12s0/mtu", "99999999999999999999\n");
    tree.write("sys/class/net/bonding_masters", "\n");
    Machine const machine = read_machine(tree.root());
    EXPECT_EQ(machine.gpus[0].link, PcieLink{});
    EXPECT_EQ(machine.gpus[0].numa, -1);
    EXPECT_EQ(machine.sockets, 0);
    EXPECT_EQ(machine.memory_bytes, 0);
    EXPECT_EQ(machine.nics[0].rate_gbit, 0);
    EXPECT_EQ(machine.nics[0].mtu, 0);
    EXPECT_FALSE(machine.nics[1].up);
    EXPECT_THAT(machine.nics, SizeIs(11));
}

TEST(ReadMachine, NothingThere) {
    RecordedTree const tree;
    Machine machine = read_machine(tree.root(), "n1");
    EXPECT_EQ(machine.name, "n1");
    machine.name = machine.source = "";
    EXPECT_EQ(machine, Machine{});
}

/// A bridge's configuration space with an ACS capability behind another one.
TEST(ReadMachine, AcsOfBridges) {
    auto const tree = RecordedTree::named("dgx_a100");
    std::string config(4096, '\0');
    auto const put = [&](std::size_t at, unsigned value) {
        for (int i = 0; i < 4; ++i) config[at + i] = static_cast<char>(value >> 8 * i);
    };
    put(0x100, 0x14010001);         // AER, next at 0x140
    put(0x140, 0x0001000d);         // ACS, the last
    put(0x144, 0x001d0000 | 0x5f);  // control above capability
    std::string const bridge = "sys/devices/pci0000:00/0000:00:01.1/";
    tree.write(bridge + "config", config);
    auto const acs = [&] { return read_machine(tree.root()).pci[0].acs; };
    EXPECT_EQ(read_machine(tree.root()).pci[0].address, "0000:00:01.1");
    EXPECT_EQ(acs(), "on");
    put(0x144, 0x0000005f);
    tree.write(bridge + "config", config);
    EXPECT_EQ(acs(), "off");
    put(0x140, 0x1400000d & ~0xfu);  // points at itself for ever
    tree.write(bridge + "config", config);
    EXPECT_EQ(acs(), "");
    tree.write(bridge + "config", config.substr(0, 64));  // not root
    EXPECT_EQ(acs(), "");
}

}  // namespace
}  // namespace osora::topology
