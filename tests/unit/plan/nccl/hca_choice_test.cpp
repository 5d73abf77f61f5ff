// Compute cards are distinguished from storage and management cards by link layer, rate and
// distance.
#include "plan/nccl/hca_choice.hpp"
#include "tests/unit/plan/nccl/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using topology::Machine;
using topology::NicKind;

void put(Machine& machine, std::string address, std::string parent) {
    topology::PciDevice device;
    device.address = std::move(address);
    device.parent = std::move(parent);
    device.host = "pci0000:00";
    machine.pci.push_back(std::move(device));
}

/// `pairs` GPUs with a NIC each below a separate switch, as in an H100 machine, and two storage
/// cards of the same rate on separate root ports.
Machine gpu_machine(std::string name, int pairs) {
    Machine made = machine(std::move(name), {});
    for (int i = 0; i < pairs; ++i) {
        auto const n = std::to_string(i);
        put(made, "port" + n, "");
        put(made, "switch" + n, "port" + n);
        put(made, "gpu" + n, "switch" + n);
        put(made, "nic" + n, "switch" + n);
        topology::MachineGpu gpu;
        gpu.address = "gpu" + n;
        made.gpus.push_back(gpu);
        auto nic = rdma("mlx5_" + n, NicKind::infiniband, 400);
        nic.address = "nic" + n;
        made.nics.push_back(nic);
    }
    for (int i = pairs; i < pairs + 2; ++i) {
        auto const n = std::to_string(i);
        put(made, "port" + n, "");
        put(made, "nic" + n, "port" + n);
        auto nic = rdma("mlx5_" + n, NicKind::infiniband, 400);
        nic.address = "nic" + n;
        made.nics.push_back(nic);
    }
    return made;
}

TEST(HcaChoice, StorageCardsFarFromGpusAreLeftOut) {
    auto const choice = choose_hcas(std::vector{gpu_machine("n0", 2), gpu_machine("n1", 2)});
    ASSERT_EQ(choice.nodes.size(), 2u);
    EXPECT_THAT(choice.nodes[0].devices, ElementsAre("mlx5_0", "mlx5_1"));
    EXPECT_THAT(choice.nodes[0].left_out,
                ElementsAre("mlx5_2 (near no GPU)", "mlx5_3 (near no GPU)"));
    EXPECT_FALSE(choice.nodes[0].far_from_gpu);
    EXPECT_TRUE(choice.warnings.empty());
}

TEST(HcaChoice, DistanceDecidesNothingWhenSomeGpuHasNoCardNearIt) {
    auto odd = gpu_machine("n0", 2);
    std::erase_if(odd.nics, [](auto const& nic) { return nic.device == "mlx5_1"; });
    auto const choice = choose_hcas(std::vector{odd});
    EXPECT_THAT(choice.nodes[0].devices, ElementsAre("mlx5_0", "mlx5_2", "mlx5_3"));
    EXPECT_TRUE(choice.nodes[0].far_from_gpu);
}

TEST(HcaChoice, SlowerCardsAndTheOtherLinkLayerAreLeftOut) {
    auto down = rdma("mlx5_7", NicKind::infiniband, 400);
    down.up = false;
    auto const choice = choose_hcas(std::vector{machine(
        "n0",
        {rdma("mlx5_0", NicKind::infiniband, 200), rdma("mlx5_1", NicKind::infiniband, 200),
         rdma("mlx5_2", NicKind::roce, 100), rdma("mlx5_3", NicKind::infiniband, 25), down})});
    EXPECT_THAT(choice.nodes[0].devices, ElementsAre("mlx5_0", "mlx5_1"));
    EXPECT_THAT(choice.nodes[0].left_out,
                ElementsAre("mlx5_2 (Ethernet)", "mlx5_3 (25 of 200 Gbit/s)"));
}

TEST(HcaChoice, PortsAreNamedWhereACardHasSeveral) {
    auto first = rdma("mlx5_0", NicKind::infiniband, 200), second = first;
    second.port = 2;
    second.rate_gbit = 100;
    auto const choice = choose_hcas(std::vector{machine("n0", {first, second})});
    EXPECT_THAT(choice.nodes[0].devices, ElementsAre("mlx5_0:1"));
}

TEST(HcaChoice, RailsAreSeparateNetworks) {
    auto const node = [](std::string const& name, std::string const& host, bool same) {
        auto a = rdma("mlx5_0", NicKind::roce, 400), b = rdma("mlx5_1", NicKind::roce, 400);
        a.addresses = {"10.1.0." + host + "/24"};
        b.addresses = {(same ? "10.1.0." + host + "0" : "10.2.0." + host) + "/24"};
        return machine(name, {a, b});
    };
    EXPECT_TRUE(choose_hcas(std::vector{node("n0", "1", false), node("n1", "2", false)}).rails);
    EXPECT_FALSE(choose_hcas(std::vector{node("n0", "1", true), node("n1", "2", true)}).rails);
    EXPECT_FALSE(choose_hcas(std::vector{node("n0", "1", false), node("n1", "2", true)}).rails);
    EXPECT_FALSE(choose_hcas(std::vector{node("n0", "1", false)}).rails) << "one node has no rails";
    EXPECT_FALSE(choose_hcas({}).rails);
}

TEST(HcaChoice, TheGidOfRoceVersionTwo) {
    auto nic = rdma("mlx5_0", NicKind::roce, 100);
    nic.gids = {{0, "IB/RoCE v1", "fe80:0000:0000:0000:0000:0000:0000:0001"},
                {1, "RoCE v2", "fe80:0000:0000:0000:0000:0000:0000:0001"},
                {2, "IB/RoCE v1", "0000:0000:0000:0000:0000:ffff:0a00:0001"},
                {3, "RoCE v2", "0000:0000:0000:0000:0000:ffff:0a00:0001"}};
    EXPECT_EQ(choose_hcas(std::vector{machine("n0", {nic})}).nodes[0].gid_index, 3);
    auto other = nic;
    other.device = "mlx5_1";
    other.gids[3].index = 5;
    EXPECT_FALSE(choose_hcas(std::vector{machine("n0", {nic, other})}).nodes[0].gid_index)
        << "one index for all devices, or none";
}

TEST(HcaChoice, NodesThatDifferAreNamed) {
    auto const ib = [](int i) {
        return rdma("mlx5_" + std::to_string(i), NicKind::infiniband, 200);
    };
    auto const choice =
        choose_hcas(std::vector{machine("n0", {ib(0), ib(1)}), machine("n1", {ib(0)}),
                                machine("n2", {ethernet("eth0", 25)})});
    EXPECT_THAT(choice.warnings, ElementsAre(HasSubstr("n2"), HasSubstr("n1 (1)")));
    EXPECT_TRUE(choose_hcas(std::vector{machine("n2", {ethernet("eth0", 25)})}).warnings.empty());
}

TEST(HcaChoice, LoopsAndManyDevicesEnd) {
    auto odd = gpu_machine("n0", 1);
    for (auto& each : odd.pci) {
        if (each.address == "port0") each.parent = "switch0";
    }
    EXPECT_EQ(choose_hcas(std::vector{odd}).nodes.size(), 1u);
    auto many = machine("n1", {});
    for (int i = 0; i < 40; ++i) {
        many.nics.push_back(rdma("m" + std::to_string(i), NicKind::infiniband, 100));
    }
    auto const choice = choose_hcas(std::vector{many});
    EXPECT_EQ(choice.nodes[0].devices.size(), 32u);
    EXPECT_THAT(choice.warnings, ElementsAre(HasSubstr("40 RDMA devices")));
}

}  // namespace
}  // namespace osora::plan
