// Whole logs of runs in which nothing was wrong, in the words of NCCL 2.7 to 2.28: no finding above
// a note. The lines are those that public logs of these versions have, with other names and
// addresses.
#include "tests/kit/recorded_tree.hpp"
#include "topology/doctor/collect.hpp"
#include "topology/doctor/rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology::doctor {
namespace {

struct HealthyLog {
    char const* name;
    std::vector<std::string> lines;  // without the host at the start; '|' first: unchanged
    int hosts = 2;
};

std::string text_of_log(HealthyLog const& log) {
    std::string text;
    for (int i = 1; i <= log.hosts; ++i) {
        std::string const host = "n" + std::to_string(i);
        for (std::string line : log.lines) {
            for (auto at = line.find('#'); at != std::string::npos; at = line.find('#')) {
                line.replace(at, 1, std::to_string(i));
            }
            text += line.starts_with('|') ? line.substr(1) : host + ":4711:4720 [0] " + line;
            text += '\n';
        }
    }
    return text;
}

std::vector<HealthyLog> const kHealthyLogs{
    {"v2_7_sockets",
     {"NCCL INFO Bootstrap : Using [0]eno1:192.168.0.10#<0>",
      "NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation", "|",
      "misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]",
      "NCCL INFO NET/Socket : Using [0]eno1:192.168.0.10#<0>", "NCCL INFO Using network Socket",
      "|NCCL version 2.7.8+cuda11.0",
      "NCCL INFO Call to connect returned Connection refused, retrying",
      "NCCL INFO Channel 00/02 :    0   1", "NCCL INFO threadThresholds 8/8/64 | 16/8/64 | 8/8/64",
      "NCCL INFO Channel 00 : 1[18000] -> 0[18000] [receive] via NET/Socket/0",
      "NCCL INFO 2 coll channels, 2 p2p channels, 1 p2p channels per peer",
      "NCCL INFO comm 0x7f3b rank 0 nranks 2 cudaDev 0 busId 18000 - Init COMPLETE"}},
    {"v2_10_infiniband",
     {"NCCL INFO Bootstrap : Using ib0:10.1.0.#<0>",
      "NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
      "NCCL INFO NCCL_IB_HCA set by environment to mlx5",
      "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB ib0:10.1.0.#<0>",
      "NCCL INFO Using network IB", "|NCCL version 2.10.3+cuda11.3",
      "NCCL INFO Channel 00 : 7[cb000] -> 8[7000] [receive] via NET/IB/0/GDRDMA",
      "NCCL INFO Channel 01 : 7[cb000] -> 8[7000] [receive] via NET/IB/1/GDRDMA",
      "NCCL INFO Channel 00 : 8[7000] -> 9[b000] via P2P/IPC/read", "NCCL INFO Connected all rings",
      "NCCL INFO Connected all trees",
      "NCCL INFO comm 0x7f rank 0 nranks 16 cudaDev 0 busId 7000 - Init COMPLETE"}},
    {"v2_18_roce",
     {"NCCL INFO cudaDriverVersion 12020", "NCCL INFO Bootstrap : Using bond0:10.2.0.#<0>",
      "NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file "
      "or "
      "directory No plugin found (libnccl-net.so), using internal implementation",
      "|NCCL version 2.18.3+cuda12.1",
      "NCCL INFO NET/IB : Using [0]mlx5_bond_0:1/RoCE [1]mlx5_bond_1:1/RoCE [RO]; OOB "
      "bond0:10.2.0.#<0>",
      "NCCL INFO Using network IB",
      "NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 18000 commId 0xd1 - Init "
      "START",
      "NCCL INFO NVLS multicast support is not available on dev 0",
      "NCCL INFO Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA",
      "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read", "NCCL INFO Connected all rings",
      "NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 18000 commId 0xd1 - Init "
      "COMPLETE"}},
    {"v2_21_efa",
     {"NCCL INFO Bootstrap : Using enp71s0:172.31.0.1#<0>",
      "NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
      "NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v7)",
      "NCCL INFO NET/Plugin: Loaded coll plugin SHARP (v7)",
      "NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.9.1-aws",
      "NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)", "|NCCL version 2.21.5+cuda12.4",
      "NCCL INFO Using non-device net plugin version 0", "NCCL INFO Using network Libfabric",
      "NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal "
      "tuner "
      "plugin.",
      "NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
      "NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA"}},
    {"v2_27_sockets_in_pods",
     {"NCCL INFO NCCL_SOCKET_IFNAME set by environment to ^docker0,lo",
      "NCCL INFO Bootstrap: Using eth0:10.0.4.5#<0>", "NCCL INFO cudaDriverVersion 12080",
      "NCCL INFO NCCL version 2.27.3+cuda12.8",
      "NCCL INFO NET/Plugin: Could not find: libnccl-net.so",
      "NCCL INFO Failed to open libibverbs.so[.1]",
      "NCCL INFO NET/Socket : Using [0]eth0:10.0.4.5#<0>",
      "NCCL INFO Initialized NET plugin Socket", "NCCL INFO Assigned NET plugin Socket to comm",
      "NCCL INFO Using network Socket",
      "NCCL INFO ncclCommInitRankConfig comm 0x5 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 36000 "
      "commId "
      "0xbc - Init START",
      "NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/Socket/0",
      "NCCL INFO ncclCommInitRankConfig comm 0x5 rank 0 nranks 4 - Init COMPLETE"}},
    {"v2_23_one_node_nvlink",
     {"NCCL INFO Bootstrap : Using eth0:172.17.0.2<0>", "NCCL INFO NCCL version 2.23.4+cuda12.6",
      "NCCL INFO NET/IB : No device found.", "NCCL INFO NET/Socket : Using [0]eth0:172.17.0.2<0>",
      "NCCL INFO Using network Socket",
      "NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 24)",
      "NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0",
      "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "NCCL INFO Connected NVLS tree",
      "NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 8 - Init COMPLETE"},
     1},
};

class HealthyLogs : public ::testing::TestWithParam<HealthyLog> {};

TEST_P(HealthyLogs, SayNothingAboveANote) {
    tests::RecordedTree const folder;
    folder.write("job.log", text_of_log(GetParam()));
    auto const evidence = read_evidence(folder.root());
    ASSERT_TRUE(evidence.has_value()) << evidence.error().message;
    EXPECT_EQ(evidence->nodes.size(), static_cast<std::size_t>(GetParam().hosts));
    for (auto const& node : evidence->nodes) {
        EXPECT_EQ(node.log.versions.size(), 1u) << node.name;
        EXPECT_EQ(node.log.networks.size(), 1u) << node.name;
    }
    for (auto const& each : diagnose(*evidence).findings) {
        EXPECT_EQ(each.severity, Severity::info) << each.title << ": " << each.seen;
    }
}

INSTANTIATE_TEST_SUITE_P(Versions, HealthyLogs, ::testing::ValuesIn(kHealthyLogs),
                         [](auto const& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace osora::topology::doctor
