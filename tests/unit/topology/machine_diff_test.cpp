#include "topology/machine_diff.hpp"
#include "tests/kit/recorded_tree.hpp"
#include "topology/sources/read_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tests::RecordedTree;

std::vector<std::string> lines(std::vector<Difference> const& differences) {
    std::vector<std::string> texts;
    for (Difference const& each : differences) {
        texts.push_back(each.path + ": " + each.reference + " -> " + each.other);
    }
    return texts;
}

class MachineDiff : public testing::Test {
protected:
    [[nodiscard]] Machine changed() const { return read_machine(tree_.root(), "n2"); }
    RecordedTree tree_ = RecordedTree::named("hgx_h100");
    Machine const reference_ = read_machine(tree_.root(), "n1");
};

TEST_F(MachineDiff, IndividualPropertiesAreNoDifference) {
    tree_.write("sys/class/infiniband/mlx5_2/ports/1/gids/0", "fe80::77\n");
    tree_.write("proc/sys/kernel/hostname", "elsewhere\n");
    tree_.write("sys/class/net/veth7/mtu", "1500\n");
    tree_.write("proc/net/if_inet6", "");
    EXPECT_THAT(lines(diff_machines(reference_, changed())), IsEmpty());
}

TEST_F(MachineDiff, NarrowerAndSlowerLinks) {
    tree_.write("sys/class/infiniband/mlx5_4/device/current_link_width", "8\n");
    tree_.write("sys/class/infiniband/mlx5_6/device/current_link_speed", "8.0 GT/s PCIe\n");
    auto const differences = diff_machines(reference_, changed());
    EXPECT_THAT(lines(differences), ElementsAre("nic.mlx5_4.link.current_width: x16 -> x8",
                                                "nic.mlx5_6.link.current_gt_s: 32 GT/s -> 8 GT/s"));
    // 32 GT/s x 8 lanes x 128/130 / 8 bits
    EXPECT_THAT(differences[0].effect, HasSubstr("at most 31.5 GB/s of the 50 GB/s of its port"));
    EXPECT_THAT(differences[1].effect, HasSubstr("NCCL reads max_link_*"));
    EXPECT_TRUE(differences[0].worse);
}

TEST_F(MachineDiff, AMissingCardIsNamedAlsoWhenLaterOnesAreRenamed) {
    Machine other = reference_;
    auto const gone = std::ranges::find(other.nics, "mlx5_3", &Nic::device);
    ASSERT_NE(gone, other.nics.end());
    other.nics.erase(gone);
    for (Nic& nic : other.nics) {
        for (int i = 4; i <= 8; ++i) {
            if (nic.device == "mlx5_" + std::to_string(i)) {
                nic.device = "mlx5_" + std::to_string(i - 1);
                break;
            }
        }
    }
    auto const differences = diff_machines(reference_, other);
    EXPECT_THAT(
        lines(differences),
        ElementsAre("nic.mlx5_3: 400 Gbit/s infiniband at 0000:ab:00.0 -> missing",
                    "nic.mlx5_4.device: mlx5_4 -> mlx5_3", "nic.mlx5_5.device: mlx5_5 -> mlx5_4",
                    "nic.mlx5_6.device: mlx5_6 -> mlx5_5", "nic.mlx5_7.device: mlx5_7 -> mlx5_6",
                    "nic.mlx5_8.device: mlx5_8 -> mlx5_7"));
    auto const back = diff_machines(other, reference_);
    EXPECT_EQ(back.back().path, "nic.mlx5_3");
    EXPECT_EQ(back.back().reference, "missing");
    EXPECT_FALSE(back.back().worse);
}

TEST_F(MachineDiff, StateRateNumaVersions) {
    std::string const card = "sys/class/infiniband/mlx5_8/";
    tree_.write(card + "ports/1/rate", "200 Gb/sec (4X HDR)\n");
    tree_.write(card + "fw_ver", "28.36.1010\n");
    tree_.write("sys/class/infiniband/mlx5_7/ports/1/state", "1: DOWN\n");
    tree_.write("sys/bus/pci/devices/0000:18:00.0/numa_node", "1\n");
    tree_.write("sys/module/nvidia/version", "535.129.03\n");
    tree_.write("sys/class/net/enp101s0np0/mtu", "1500\n");
    EXPECT_THAT(
        lines(diff_machines(reference_, changed())),
        ElementsAre("gpu.0.numa: node 0 -> node 1", "nic.mlx5_0.mtu: 9000 -> 1500",
                    "nic.mlx5_7.up: yes -> no", "nic.mlx5_8.rate_gbit: 400 Gbit/s -> 200 Gbit/s",
                    "nic.mlx5_8.firmware: 28.39.1002 -> 28.36.1010",
                    "gpu_driver: 550.54.15 -> 535.129.03"));
}

TEST_F(MachineDiff, AMissingGpu) {
    Machine other = reference_;
    other.gpus.erase(other.gpus.begin() + 5);
    EXPECT_THAT(lines(diff_machines(reference_, other)),
                ElementsAre("gpu.5: NVIDIA H100 80GB HBM3 at 0000:ac:00.0 -> missing"));
}

TEST_F(MachineDiff, SwappedCardsOfAVirtualMachine) {
    Machine other = reference_;
    auto const swap = [&](char const* a, char const* b) {
        auto const left = std::ranges::find(other.nics, a, &Nic::device);
        auto const right = std::ranges::find(other.nics, b, &Nic::device);
        std::swap(left->device, right->device);
    };
    swap("mlx5_2", "mlx5_4");
    auto const differences = diff_machines(reference_, other);
    EXPECT_THAT(lines(differences), ElementsAre("nic.mlx5_2.device: mlx5_2 -> mlx5_4",
                                                "nic.mlx5_4.device: mlx5_4 -> mlx5_2"));
}

TEST_F(MachineDiff, ACardThatIsNearAnotherGpu) {
    Machine other = reference_;
    auto const at = [&](char const* address) {
        return std::ranges::find(other.pci, address, &PciDevice::address);
    };
    // A hypervisor that shows every card at the root.
    at("0000:17:00.0")->parent = "";
    EXPECT_THAT(lines(diff_machines(reference_, other)),
                ElementsAre("nic.mlx5_2.nearest_gpu: PIX to GPU0 -> PHB"));
}

TEST_F(MachineDiff, TheMajorityIsTheReference) {
    std::vector<Machine> fleet(1024, reference_);
    for (std::size_t i = 0; i < fleet.size(); ++i) {
        fleet[i].name = "n" + std::to_string(i);
        fleet[i].gpus[0].uuid = "GPU-" + std::to_string(i);
    }
    fleet[0].nics.pop_back();  // lo does not matter
    fleet[1].nics.erase(fleet[1].nics.begin() + 4);
    fleet[7].gpus[3].link.current_width = fleet[9].gpus[3].link.current_width = 8;
    auto const groups = group_machines(fleet);
    ASSERT_THAT(groups, SizeIs(3));
    EXPECT_THAT(groups[0].members, SizeIs(1021));
    EXPECT_THAT(groups[0].differences, IsEmpty());
    EXPECT_THAT(groups[1].members, ElementsAre(7, 9));
    EXPECT_THAT(lines(groups[1].differences), ElementsAre("gpu.3.link.current_width: x16 -> x8"));
    EXPECT_THAT(groups[2].members, ElementsAre(1));
    EXPECT_THAT(group_machines({}), IsEmpty());
}

TEST_F(MachineDiff, AFleetWhereEveryMachineDiffers) {
    std::vector<Machine> fleet(300, reference_);
    for (std::size_t i = 0; i < fleet.size(); ++i) fleet[i].nics[0].firmware = std::to_string(i);
    fleet[250].nics[0].firmware = fleet[0].nics[0].firmware;
    auto const groups = group_machines(fleet);
    EXPECT_THAT(groups, SizeIs(299));
    EXPECT_THAT(groups[0].members, ElementsAre(0, 250));
}

}  // namespace
}  // namespace osora::topology
