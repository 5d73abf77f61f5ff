// The interface of each node: measured before nominal, a common network before the fastest card.
#include "plan/nccl/interface_choice.hpp"
#include "tests/unit/plan/nccl/machines.hpp"
#include "topology/ip_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using topology::Machine;

std::vector<std::string> chosen(std::vector<Machine> const& machines,
                                topology::ProbeResult const* probe = nullptr) {
    std::vector<std::string> names;
    for (auto const& each : choose_interfaces(machines, probe).nodes) {
        names.push_back(each.node + " " + each.interface + (each.measured ? " measured" : ""));
    }
    return names;
}

std::vector<Machine> two_nics(int count) {
    std::vector<Machine> machines;
    for (int i = 0; i < count; ++i) {
        auto const host = std::to_string(i + 1);
        machines.push_back(
            machine("n" + std::to_string(i), {ethernet("eth0", 10, "10.0.0." + host + "/24"),
                                              ethernet("eth1", 25, "10.1.0." + host + "/24")}));
    }
    return machines;
}

TEST(InterfaceChoice, TheFasterNetworkByItsCards) {
    EXPECT_THAT(chosen(two_nics(3)), ElementsAre("n0 eth1", "n1 eth1", "n2 eth1"));
}

TEST(InterfaceChoice, WhatIsMeasuredWinsOverWhatCardsSay) {
    auto const probe = probe_of({"n0", "n1"}, {over(0, "eth0", 9.4), over(1, "eth0", 9.3),
                                               over(0, "eth1", 0.9), over(1, "eth1", 1.1)});
    EXPECT_THAT(chosen(two_nics(2), &probe), ElementsAre("n0 eth0 measured", "n1 eth0 measured"));
}

TEST(InterfaceChoice, OneNodeWhoseNamesAreSwapped) {
    auto machines = two_nics(4);
    std::swap(machines[2].nics[0].interface, machines[2].nics[1].interface);
    EXPECT_THAT(chosen(machines), ElementsAre("n0 eth1", "n1 eth1", "n2 eth0", "n3 eth1"));
}

TEST(InterfaceChoice, OneNodeWithASlowCardGetsItsOtherOne) {
    // Addresses are not known; the probe went over each interface.
    std::vector<Machine> machines;
    std::vector<topology::PairSample> pairs;
    for (int i = 0; i < 4; ++i) {
        machines.push_back(
            machine("n" + std::to_string(i), {ethernet("eth0", 25), ethernet("eth1", 25)}));
        pairs.push_back(over(i, "eth0", i == 2 ? 0.9 : 23.0 + 0.1 * i));
        pairs.push_back(over(i, "eth1", 22.0));
    }
    auto const probe = probe_of({"n0", "n1", "n2", "n3"}, pairs);
    EXPECT_THAT(chosen(machines, &probe), ElementsAre("n0 eth0 measured", "n1 eth0 measured",
                                                      "n2 eth1 measured", "n3 eth0 measured"));
}

TEST(InterfaceChoice, EqualNetworksDoNotFlipFromNodeToNode) {
    auto machines = two_nics(3);
    for (auto& each : machines) each.nics[0].rate_gbit = 25;
    auto const probe = probe_of(
        {"n0", "n1", "n2"}, {over(0, "eth0", 23.1), over(0, "eth1", 23.4), over(1, "eth0", 23.5),
                             over(1, "eth1", 23.0), over(2, "eth0", 23.2), over(2, "eth1", 23.3)});
    auto const choice = choose_interfaces(machines, &probe);
    for (auto const& each : choice.nodes) {
        EXPECT_EQ(each.interface, choice.nodes.front().interface);
    }
    EXPECT_EQ(choice.equals.size(), 1u);
}

TEST(InterfaceChoice, ContainersTunnelsAndCardsThatAreDownDoNotCount) {
    auto slow = ethernet("eno1", 1, "192.168.0.7/24");
    auto down = ethernet("eth9", 400, "10.9.0.7/24");
    down.up = false;
    auto bridge = ethernet("br0", 100, "10.8.0.1/24");
    bridge.driver = "bridge";
    auto const no_address = ethernet("eth8", 200);
    auto part = ethernet("eth7", 100, "10.6.0.1/24");
    part.master = "bond0";
    std::vector<Machine> const machines{
        machine("n0",
                {ethernet("docker0", 1000, "172.17.0.1/16"), ethernet("lo", 0, "127.0.0.1/8"),
                 ethernet("veth12", 100, "10.7.0.1/24"), bridge, down, part, no_address, slow}),
        machine("n1", {slow})};
    EXPECT_THAT(chosen(machines), ElementsAre("n0 eno1", "n1 eno1"));
}

TEST(InterfaceChoice, NodesInDifferentNetworksAreSaid) {
    auto const choice =
        choose_interfaces(std::vector{machine("n0", {ethernet("eth0", 25, "10.0.0.1/24")}),
                                      machine("n1", {ethernet("eth0", 25, "10.0.1.1/24"),
                                                     ethernet("eth1", 1, "10.3.1.1/24")}),
                                      machine("n2", {})},
                          nullptr);
    ASSERT_EQ(choice.nodes.size(), 2u);
    EXPECT_EQ(choice.nodes[1].interface, "eth0");
    EXPECT_THAT(choice.warnings, ElementsAre(HasSubstr("no interface that is up: n2"),
                                             HasSubstr("no network is common")));
}

TEST(InterfaceChoice, ASlowNodeIsNamed) {
    std::vector<topology::PairSample> pairs;
    for (int i = 0; i < 4; ++i) pairs.push_back(over(i, "eth1", i == 1 ? 8.0 : 23.0));
    auto const probe = probe_of({"n0", "n1", "n2", "n3"}, pairs);
    EXPECT_THAT(choose_interfaces(two_nics(4), &probe).warnings,
                ElementsAre(HasSubstr("n1 (eth1 8 Gbit/s)")));
}

TEST(InterfaceChoice, SamplesThatSayNothingAreLeftOut) {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const infinite = std::numeric_limits<double>::infinity();
    auto probe = probe_of({"n0", "n1"}, {});
    for (double const seconds : {nan, infinite, 0.0, -1.0}) {
        auto sample = over(0, "eth0", 1);
        sample.seconds = seconds;
        probe.pairs.push_back(sample);
    }
    for (int const from : {-1, 2, 1'000'000}) probe.pairs.push_back(over(from, "eth0", 400));
    auto zero = over(0, "eth0", 400);
    zero.size_bytes = 0;
    probe.pairs.push_back(zero);
    probe.scores.resize(5);
    EXPECT_THAT(chosen(two_nics(2), &probe), ElementsAre("n0 eth1", "n1 eth1"));
    EXPECT_TRUE(chosen({}, &probe).empty());
}

TEST(InterfaceChoice, NetworksOfAddresses) {
    EXPECT_EQ(topology::network_of("10.0.4.7/22"), "10.0.4.0/22");
    EXPECT_EQ(topology::network_of("10.0.7.255/22"), "10.0.4.0/22");
    EXPECT_EQ(topology::network_of("192.168.3.4/32"), "192.168.3.4/32");
    EXPECT_EQ(topology::network_of("fd00::7/64"), "fd00::/64");
    for (char const* none : {"", "10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/0", "10.0.0/8",
                             "127.0.0.1/8", "169.254.1.1/16", "fe80::1/64", "::1/128", "x/24",
                             "10.0.0.1/24x", "10.0.0.1/-1", "fd00::/129"}) {
        EXPECT_EQ(topology::network_of(none), "") << none;
    }
}

}  // namespace
}  // namespace osora::plan
