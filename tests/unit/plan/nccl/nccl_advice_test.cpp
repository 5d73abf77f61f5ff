// Each rule fires where it should and not elsewhere; the user's value wins; nothing of class B is
// ever set by osora.
#include "plan/nccl/nccl_advice.hpp"
#include "tests/unit/plan/nccl/machines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using topology::NicKind;

AdviceInputs cluster(int nodes) {
    AdviceInputs inputs;
    inputs.nodes = nodes;
    for (int i = 0; i < nodes; ++i) {
        auto const host = std::to_string(i + 1);
        inputs.machines.push_back(
            machine("n" + std::to_string(i), {ethernet("eth0", 25, "10.0.0." + host + "/16"),
                                              ethernet("eno1", 1, "192.168.0." + host + "/24")}));
    }
    return inputs;
}

AdviceInputs with_rdma(int nodes, NicKind kind) {
    auto inputs = cluster(nodes);
    for (auto& each : inputs.machines) {
        each.nics.push_back(rdma("mlx5_0", kind, 400));
        each.nics.push_back(rdma("mlx5_1", kind, 400));
    }
    return inputs;
}

/// "NAME=VALUE origin @nodes" of the run, "~" in front of what is for the preflight only.
std::vector<std::string> lines(NcclAdvice const& advice) {
    std::vector<std::string> list;
    for (auto const& each : advice.settings) {
        list.push_back(fmt::format(
            "{}{}={} {}{}", each.preflight ? "~" : "", each.name, each.value, each.origin,
            each.nodes.empty() ? std::string() : fmt::format(" @{}", fmt::join(each.nodes, ","))));
    }
    return list;
}

std::vector<std::string> names(std::vector<SettingCandidate> const& candidates) {
    std::vector<std::string> list;
    for (auto const& each : candidates) list.push_back(each.name);
    return list;
}

void own(AdviceInputs& inputs, std::string const& name, std::string const& value) {
    inputs.own[name] = {value, "run file: r.toml:4"};
}

void inherit(AdviceInputs& inputs, std::string const& name, std::string const& value) {
    if (inputs.inherited.empty()) inputs.inherited.emplace_back();
    inputs.inherited[0].settings.push_back(
        {name, value, "environment, set by /etc/profile.d/nccl.sh:4"});
}

TEST(NcclAdvice, SocketsOnlyCluster) {
    auto const advice = advise_nccl(cluster(2));
    EXPECT_THAT(lines(advice),
                ElementsAre("GLOO_SOCKET_IFNAME=eth0 facts", "NCCL_DEBUG=WARN default",
                            "NCCL_SOCKET_IFNAME==eth0 facts", "NCCL_TUNER_PLUGIN=none default",
                            "~NCCL_DEBUG=INFO default",
                            "~NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING,ENV default",
                            "~NCCL_IGNORE_NET_MISMATCH=0 default"));
    EXPECT_THAT(names(advice.candidates),
                testing::IsSupersetOf({"NCCL_NSOCKS_PERTHREAD", "NCCL_SOCKET_NTHREADS"}));
    EXPECT_THAT(names(advice.candidates), Not(Contains("NCCL_IB_QPS_PER_CONNECTION")));
    EXPECT_TRUE(advice.warnings.empty());
}

TEST(NcclAdvice, CardsThatAreNotKnownAreNoSockets) {
    auto inputs = cluster(2);
    for (auto& each : inputs.machines) each.source = kProbeOnly;
    EXPECT_THAT(names(advise_nccl(inputs).candidates), Not(Contains("NCCL_NSOCKS_PERTHREAD")));
}

TEST(NcclAdvice, OneNodeNeedsNoNetwork) {
    EXPECT_THAT(lines(advise_nccl(cluster(1))), ElementsAre("NCCL_DEBUG=WARN default"));
    auto cpu = cluster(1);
    cpu.gpu = false;
    EXPECT_TRUE(advise_nccl(cpu).settings.empty());
}

TEST(NcclAdvice, CpuRanksGetGloosInterfaceAlone) {
    auto inputs = cluster(2);
    inputs.gpu = false;
    own(inputs, "NCCL_IB_TC", "106");
    inherit(inputs, "NCCL_ALGO", "Tree");
    auto const advice = advise_nccl(inputs);
    EXPECT_THAT(lines(advice),
                ElementsAre("GLOO_SOCKET_IFNAME=eth0 facts", "NCCL_IB_TC=106 yours"));
    EXPECT_THAT(advice.settings[1].reason, HasSubstr("do not read it"));
    EXPECT_THAT(advice.inherited[0].advice, HasSubstr("do not read it"));
    EXPECT_TRUE(advice.candidates.empty());
}

TEST(NcclAdvice, AWrongInterfaceOnOneNodeIsAdvisedAway) {
    // Four nodes with two cards; on n2 the names are swapped, and its profile names the slow one.
    auto inputs = cluster(4);
    inputs.gpu = false;
    std::swap(inputs.machines[2].nics[0].interface, inputs.machines[2].nics[1].interface);
    inputs.inherited = {
        {"n2", {{"GLOO_SOCKET_IFNAME", "eth0", "environment, set by /etc/profile.d/net.sh:2"}}}};
    std::vector<topology::PairSample> pairs;
    for (int i = 0; i < 4; ++i) {
        pairs.push_back(over(i, "eth0", i == 2 ? 0.94 : 23.4));
        pairs.push_back(over(i, "eno1", i == 2 ? 23.1 : 0.93));
    }
    inputs.probe = probe_of({"n0", "n1", "n2", "n3"}, pairs);
    auto const advice = advise_nccl(inputs);
    EXPECT_THAT(lines(advice), ElementsAre("GLOO_SOCKET_IFNAME=eth0 probe @n0,n1,n3",
                                           "GLOO_SOCKET_IFNAME=eno1 probe @n2"));
    EXPECT_THAT(advice.settings[1].reason,
                HasSubstr("23.1 Gbit/s measured; also there: eth0 0.94"));
    ASSERT_EQ(advice.inherited.size(), 1u);
    EXPECT_EQ(advice.inherited[0].advice, "replaced by eno1 (probe); remove it");
    EXPECT_THAT(advice.inherited[0].nodes, ElementsAre("n2"));
}

TEST(NcclAdvice, NodesThatAreNotKnownGetNothing) {
    auto inputs = cluster(2);
    inputs.nodes = 16;
    EXPECT_THAT(lines(advise_nccl(inputs)), Contains("NCCL_SOCKET_IFNAME==eth0 facts @n0,n1"));
    inputs.machines.clear();
    EXPECT_THAT(lines(advise_nccl(inputs)), Not(Contains(HasSubstr("IFNAME"))));
}

TEST(NcclAdvice, RdmaDevicesGidAndRails) {
    auto inputs = with_rdma(2, NicKind::roce);
    for (std::size_t i = 0; i < 2; ++i) {
        auto& nics = inputs.machines[i].nics;
        for (std::size_t k : {2, 3}) {
            nics[k].addresses = {fmt::format("10.{}.0.{}/24", 10 + k, i + 1)};
            nics[k].gids = {{3, "RoCE v2", "0000:0000:0000:0000:0000:ffff:0a00:0001"}};
        }
    }
    inputs.nccl_version = 22005;
    auto const old = lines(advise_nccl(inputs));
    EXPECT_THAT(
        old, testing::IsSupersetOf({"NCCL_IB_HCA==mlx5_0,mlx5_1 facts", "NCCL_IB_GID_INDEX=3 facts",
                                    "NCCL_CROSS_NIC=0 facts"}));
    EXPECT_THAT(old, Not(Contains(HasSubstr("NET_MISMATCH")))) << "2.30 brought it";
    inputs.nccl_version = 22105;
    EXPECT_THAT(lines(advise_nccl(inputs)), Not(Contains(HasSubstr("GID_INDEX"))));
    inputs.nccl_version = 0;
    EXPECT_THAT(lines(advise_nccl(inputs)), Not(Contains(HasSubstr("GID_INDEX"))));
    auto const ib = lines(advise_nccl(with_rdma(2, NicKind::infiniband)));
    EXPECT_THAT(ib, Contains("NCCL_IB_HCA==mlx5_0,mlx5_1 facts"));
    EXPECT_THAT(ib, Not(Contains(HasSubstr("CROSS_NIC"))));
}

TEST(NcclAdvice, AddressFamiliesThatDiffer) {
    auto inputs = cluster(2);
    EXPECT_THAT(lines(advise_nccl(inputs)), Not(Contains(HasSubstr("FAMILY"))));
    inputs.machines[1].nics[0].addresses.push_back("fd00::2/64");
    EXPECT_THAT(lines(advise_nccl(inputs)), Contains("NCCL_SOCKET_FAMILY=AF_INET facts"));
    inputs.machines[1].nics[0].addresses.back() = "fe80::2/64";
    EXPECT_THAT(lines(advise_nccl(inputs)), Not(Contains(HasSubstr("FAMILY"))));
}

TEST(NcclAdvice, AMaskThatMissesTheGpus) {
    auto inputs = cluster(1);
    auto& machine = inputs.machines[0];
    machine.numa = {{0, "0-15", 0}, {1, "16-31", 0}};
    machine.gpus.resize(2);
    machine.gpus[0].numa = 0;
    machine.gpus[1].numa = 1;
    inputs.extras["n0"].allowed_cpus = "0-15";
    EXPECT_THAT(lines(advise_nccl(inputs)), Contains("NCCL_IGNORE_CPU_AFFINITY=1 facts"));
    for (char const* mask : {"0-31", "0,16", "", "nonsense"}) {
        inputs.extras["n0"].allowed_cpus = mask;
        EXPECT_THAT(lines(advise_nccl(inputs)), Not(Contains(HasSubstr("AFFINITY")))) << mask;
    }
}

TEST(NcclAdvice, VirtualMachinesNeedATopologyFile) {
    auto inputs = cluster(2);
    for (auto& each : inputs.machines) {
        each.gpus.resize(8);
        each.nics[0].driver = "hv_netvsc";
    }
    EXPECT_THAT(advise_nccl(inputs).warnings, Contains(HasSubstr("NCCL_TOPO_FILE")));
    inputs.extras["n0"].topology_file = "/opt/microsoft/ndv5-topo.xml";
    inputs.extras["n1"].topology_file = "/opt/microsoft/ndv5-topo.xml";
    auto const advice = advise_nccl(inputs);
    EXPECT_THAT(lines(advice), Contains("NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml facts"));
    EXPECT_TRUE(advice.warnings.empty());
    inputs.extras["n0"].topology_file = "/var/run/nvidia-topologyd/virtualTopology.xml";
    EXPECT_THAT(lines(advise_nccl(inputs)),
                Contains("NCCL_TOPO_FILE=/opt/microsoft/ndv5-topo.xml facts @n1"))
        << "NCCL finds the other one itself";
}

TEST(NcclAdvice, TheTunerIsSaid) {
    auto inputs = cluster(2);
    inputs.tuner_plugin = "/opt/osora/lib/libnccl-tuner-osora.so";
    EXPECT_THAT(lines(advise_nccl(inputs)),
                Contains("NCCL_TUNER_PLUGIN=/opt/osora/lib/libnccl-tuner-osora.so facts"));
    inputs.tuner_plugin.clear();
    inputs.machines[0].nics.push_back(rdma("efa0", NicKind::efa, 400));
    EXPECT_THAT(lines(advise_nccl(inputs)), Not(Contains(HasSubstr("TUNER"))))
        << "aws-ofi-nccl has one";
}

TEST(NcclAdvice, TheUsersValueWins) {
    auto inputs = cluster(2);
    own(inputs, "NCCL_SOCKET_IFNAME", "=eno1");
    own(inputs, "NCCL_DEBUG", "INFO");
    own(inputs, "NCCL_P2P_DISABLE", "1");
    own(inputs, "NCCL_NSOCKS_PERTHREAD", "2");
    auto const advice = advise_nccl(inputs);
    EXPECT_THAT(lines(advice),
                testing::IsSupersetOf({"NCCL_SOCKET_IFNAME==eno1 yours", "NCCL_DEBUG=INFO yours",
                                       "NCCL_P2P_DISABLE=1 yours"}));
    EXPECT_THAT(lines(advice), Not(Contains("NCCL_SOCKET_IFNAME==eth0 facts")));
    EXPECT_THAT(advice.warnings, ElementsAre(HasSubstr("NCCL_P2P_DISABLE=1 (run file: r.toml:4): "
                                                       "not to be left on")));
    EXPECT_THAT(names(advice.candidates), Not(Contains("NCCL_NSOCKS_PERTHREAD")));
    EXPECT_THAT(names(advice.candidates), Not(Contains("NCCL_SOCKET_NTHREADS")))
        << "it would change the other one";
    for (auto const& each : advice.settings) {
        if (each.name == "NCCL_SOCKET_IFNAME") {
            EXPECT_EQ(each.reason, "set by you; replaces =eth0 (facts)");
        }
    }
}

TEST(NcclAdvice, WhatIsInheritedIsListed) {
    auto inputs = cluster(2);
    inherit(inputs, "NCCL_ALGO", "Tree");
    inherit(inputs, "NCCL_SHM_DISABLE", "1");
    inherit(inputs, "NCCL_SOCKET_IFNAME", "eno1");
    inherit(inputs, "NCCL_DEBUG", "INFO");
    inherit(inputs, "NCCL_FASTRAK_X", "1");
    inputs.inherited[0].settings.push_back({"NCCL_NTHREADS", "256", "/etc/nccl.conf:2", false});
    auto const advice = advise_nccl(inputs);
    std::map<std::string, std::string> text;
    for (auto const& each : advice.inherited) {
        text[fmt::format("{} {}", each.name, each.cls)] = each.advice;
    }
    EXPECT_THAT(text["NCCL_ALGO J"], HasSubstr("unset it, or keep it under [nccl]"));
    EXPECT_THAT(text["NCCL_SHM_DISABLE B"], HasSubstr("unset it: proves"));
    EXPECT_EQ(text["NCCL_SOCKET_IFNAME P"], "replaced by =eth0 (facts); remove it");
    EXPECT_EQ(text["NCCL_DEBUG P"], "kept: osora has no better value");
    EXPECT_THAT(text["NCCL_FASTRAK_X -"], HasSubstr("not known"));
    EXPECT_EQ(text["NCCL_NTHREADS B"], "has no effect: remove it");
    EXPECT_THAT(lines(advice), Contains("NCCL_DEBUG=INFO inherited"));
    EXPECT_THAT(lines(advice), Contains("NCCL_SOCKET_IFNAME==eth0 facts"));
}

TEST(NcclAdvice, TheSameOnManyNodesIsOneRow) {
    auto inputs = cluster(3);
    for (auto const& each : inputs.machines) {
        inputs.inherited.push_back({each.name, {{"NCCL_ALGO", "Tree", "/etc/nccl.conf:1"}}});
    }
    inputs.inherited[1].settings[0].value = "Ring";
    auto const advice = advise_nccl(inputs);
    ASSERT_EQ(advice.inherited.size(), 2u);
    EXPECT_THAT(advice.inherited[0].nodes, ElementsAre("n1"));
    EXPECT_THAT(advice.inherited[1].nodes, ElementsAre("n0", "n2"));
}

TEST(NcclAdvice, NothingOfClassBIsSetByOsora) {
    for (auto kind : {NicKind::infiniband, NicKind::roce, NicKind::ethernet, NicKind::efa}) {
        for (int const version : {0, 21805, 22005, 22105, 23007}) {
            auto inputs = with_rdma(3, kind);
            inputs.nccl_version = version;
            auto const advice = advise_nccl(inputs);
            for (auto const& each : advice.settings) EXPECT_NE(each.cls, 'B') << each.name;
            for (auto const& each : advice.settings) EXPECT_NE(each.cls, '-') << each.name;
        }
    }
}

TEST(NcclAdvice, TheSameForEveryRankOfANode) {
    // No name may come twice for a node: ranks of a node get one environment.
    auto inputs = with_rdma(4, NicKind::roce);
    std::swap(inputs.machines[1].nics[0].interface, inputs.machines[1].nics[1].interface);
    inputs.machines[2].nics.pop_back();
    std::map<std::string, int> seen;
    for (auto const& each : advise_nccl(inputs).settings) {
        if (each.preflight) continue;
        auto nodes = each.nodes;
        if (nodes.empty()) nodes = {"n0", "n1", "n2", "n3"};
        for (auto const& node : nodes) ++seen[each.name + "@" + node];
    }
    for (auto const& [key, count] : seen) EXPECT_EQ(count, 1) << key;
}

}  // namespace
}  // namespace osora::plan
