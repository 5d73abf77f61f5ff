// Lines as NCCL of several versions writes them, from public logs.
#include "topology/doctor/log/nccl_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology::doctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

NcclLog log_of(std::string const& text) {
    NcclLog log;
    add_nccl_log(log, text);
    return log;
}

TEST(NcclLog, Rdma) {
    auto const log = log_of(
        "n1:4711:4720 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
        "NCCL version 2.21.5+cuda12.4\n"
        "n1:4711:4720 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE [RO]; OOB "
        "eth0:10.0.0.1<0>\n"
        "n1:4711:4720 [0] NCCL INFO Using network IB\n"
        "n1:4711:4720 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
        "n1:4711:4720 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/1(1)/GDRDMA\n"
        "n1:4711:4720 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n");
    EXPECT_EQ(log.lines, 7);
    EXPECT_THAT(log.versions, ElementsAre("2.21.5"));
    EXPECT_EQ(log.cuda, "12.4");
    EXPECT_THAT(log.networks, ElementsAre("IB"));
    EXPECT_EQ(log.bootstrap_interface, "eth0");
    EXPECT_THAT(log.rdma_devices, UnorderedElementsAre("mlx5_0:1", "mlx5_bond_0:1"));
    EXPECT_THAT(log.nics_used, ElementsAre(0, 1));
    EXPECT_EQ(log.via_ib, 2);
    EXPECT_EQ(log.via_gdr, 2);
    EXPECT_EQ(log.via_p2p, 1);
    EXPECT_THAT(log.troubles, IsEmpty());
}

TEST(NcclLog, Sockets) {
    auto const log = log_of(
        "a:1:2 [0] NCCL INFO NET/IB : No device found.\n"
        "a:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.5<0> [1]docker0:172.17.0.1<0>\n"
        "a:1:2 [0] NCCL INFO Using network Socket\n"
        "a:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] [send] via NET/Socket/0\n");
    EXPECT_TRUE(log.no_ib_device);
    EXPECT_THAT(log.socket_interfaces, UnorderedElementsAre("eth0", "docker0"));
    EXPECT_THAT(log.networks, ElementsAre("Socket"));
    EXPECT_EQ(log.via_socket, 1);
}

TEST(NcclLog, PluginsThatWereNotRequestedAreNotReported) {
    for (char const* line :
         {"NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
          "NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
          "NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so."}) {
        EXPECT_THAT(log_of(line).troubles, IsEmpty()) << line;
    }
    EXPECT_EQ(log_of("NCCL INFO NET/Plugin: Could not find: libnccl-net-ofi.so.").troubles.size(),
              1u);
}

TEST(NcclLog, Troubles) {
    struct Case {
        LogTrouble trouble;
        char const* line;
    };
    for (auto const& each :
         {Case{LogTrouble::modify_qp,
               "NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out"},
          Case{LogTrouble::bad_gid,
               "NCCL WARN Call to ibv_modify_qp failed with 61 No data "
               "available, on dev mlx5_0:1"},
          Case{LogTrouble::retry_exceeded,
               "NCCL WARN NET/IB: Got completion from peer 10.0.0.2<5> with status="
               "IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1)"},
          Case{LogTrouble::retry_exceeded,
               "NCCL WARN NET/IB : Got completion from peer 10.0.0.2<5> with error 12, opcode 0"},
          Case{LogTrouble::port_event, "NCCL WARN NET/IB : mlx5_3:1 Got async event : port error"},
          Case{LogTrouble::shm,
               "NCCL WARN Error while creating shared memory segment "
               "/dev/shm/nccl-aB (size 4)"},
          Case{LogTrouble::open_files, "NCCL WARN socket: Too many open files"},
          Case{LogTrouble::ofi, "NCCL WARN NET/OFI Failed: No eligible providers were found"},
          Case{LogTrouble::no_interface, "NCCL WARN Bootstrap : no socket interface found"},
          Case{LogTrouble::nvls, "transport/nvls.cc:91 NCCL WARN Cuda failure 801"}}) {
        auto const log = log_of(each.line);
        EXPECT_TRUE(log.troubles.contains(each.trouble)) << each.line;
        EXPECT_EQ(log.troubles.size(), 1u) << each.line;
    }
}

TEST(NcclLog, EnvironmentAndFeatures) {
    auto const log = log_of(
        "NCCL INFO NCCL_ALGO set by environment to Tree.\n"
        "NCCL INFO NVLS multicast support is not available on dev 0\n"
        "NCCL INFO MNNVL busId 0x1b000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0\n"
        "NCCL INFO GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 8 > 4)\n");
    EXPECT_EQ(log.set_by_environment.at("NCCL_ALGO"), "Tree");
    EXPECT_EQ(log.nvls_missing, 1);
    EXPECT_THAT(log.mnnvl_states, ElementsAre(3));
    EXPECT_EQ(log.gdr_distance, "distance 8 > 4");
    EXPECT_FALSE(log.gdr_disabled_for_hca);
}

TEST(NcclLog, CutByHost) {
    auto const parts = split_by_host(
        "n1:1:2 [0] NCCL INFO Using network IB\n[1,0]<stdout>:n2:1:2 [0] NCCL INFO Using network "
        "Socket\nstep 5 loss 0.3\nNCCL version 2.21.5\n");
    EXPECT_EQ(parts.size(), 2u);
    EXPECT_THAT(parts.at("n2"), testing::HasSubstr("Socket"));
    EXPECT_THAT(parts.at("n1"), testing::HasSubstr("2.21.5"));  // no prefix, as n1's lines
}

}  // namespace
}  // namespace osora::topology::doctor
