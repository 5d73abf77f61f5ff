// What the doctor advises must fit what a log and the files beside it say; each test names its
// source.
#include "tests/unit/topology/doctor/log_files.hpp"

#include <gmock/gmock.h>

namespace osora::topology::doctor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// NVIDIA/nccl issues 1008 and 1240, Azure/azhpc-images issue 327.
constexpr char const* kGraphLog =
    "vm1:16674:17023 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /opt/microsoft/topo.xml\n"
    "vm1:16674:17023 [0] NCCL INFO NCCL_GRAPH_FILE set by environment to "
    "/opt/microsoft/graph.xml\n\n"
    "vm1:16674:17023 [0] graph/search.cc:703 NCCL WARN XML Import Channel : dev 1 not found.\n"
    "vm1:16674:17023 [0] NCCL INFO graph/search.cc:733 -> 2\n";

TEST(LogCases, AGraphFileOfAnotherMachine) {
    auto const list = faults_of({{"job.log", kGraphLog}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "vm1");
    EXPECT_EQ(list[0].title, "NCCL_GRAPH_FILE does not fit this machine");
    EXPECT_THAT(list[0].seen, AllOf(HasSubstr("/opt/microsoft/graph.xml"), HasSubstr("dev 1")));
    EXPECT_THAT(list[0].fix, HasSubstr("/etc/nccl.conf"));
}

TEST(LogCases, AGraphFileFromNcclConfIsNamedWithItsLine) {
    auto const list = faults_of({{"vm1/etc/nccl.conf",
                                  "NCCL_TOPO_FILE=/opt/microsoft/topo.xml\n"
                                  "NCCL_GRAPH_FILE=/opt/microsoft/graph.xml\n"},
                                 {"vm1/nccl.log", kGraphLog}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].seen, HasSubstr("/opt/microsoft/graph.xml from /etc/nccl.conf line 2"));
    EXPECT_THAT(list[0].fix, HasSubstr("delete NCCL_GRAPH_FILE in line 2 of /etc/nccl.conf"));
}

TEST(LogCases, XidsOfTheKernelsLogAlone) {
    auto const list = faults_of(
        {{"messages.log",
          "Nov 12 10:00:00 gpu-12 kernel: [884.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has "
          "fallen off the bus.\n"
          "Nov 12 10:00:09 gpu-13 kernel: NVRM: Xid (PCI:0000:5e:00): 31, pid=77, MMU Fault\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "gpu-12");
    EXPECT_THAT(list[0].title, HasSubstr("0000:3b:00"));
    EXPECT_THAT(list[0].seen, HasSubstr("Xid 79"));
}

TEST(LogCases, AnNvswitchThatFailed) {
    auto const list = faults_of(
        {{"kern.log",
          "Nov 12 10:00:00 dgx-3 kernel: nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, "
          "Link 30 LTSSM Fault Up\n"
          "Nov 12 10:00:00 dgx-4 kernel: nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 22013, "
          "Non-fatal, Link 30 Minion Link DLREQ interrupt\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "dgx-3");
    EXPECT_THAT(list[0].seen, HasSubstr("20034"));
}

TEST(LogCases, ADmesgInAFolderOfItsNode) {
    std::string const dmesg = "[  884.101] NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n";
    EXPECT_EQ(faults_of({{"gpu-4/dmesg.txt", dmesg}}).at(0).where, "gpu-4");
    EXPECT_EQ(faults_of({{"gpu-5.dmesg.txt", dmesg}}).at(0).where, "gpu-5");
    // The GPU is gone from the machine's list, too.
    EXPECT_THAT(
        faults_of({{"gpu-6/proc/sys/kernel/hostname", "gpu-6\n"}, {"gpu-6/dmesg.txt", dmesg}}),
        Contains(Field(&Finding::rule, "gpu-health")));
}

TEST(LogCases, OneNodeFellBackToTcp) {
    std::string text;
    for (int i : {1, 2, 3}) {
        std::string const front = "n" + std::to_string(i) + ":1:2 [0] NCCL INFO ";
        text += i == 3 ? front + "NET/IB : No device found.\n" + front + "Using network Socket\n"
                       : front + "Using network IB\n";
    }
    auto const list = faults_of({{"job.log", text}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "n3");
    EXPECT_EQ(list[0].title, "NCCL uses TCP here, IB on other nodes");
    EXPECT_THAT(list[0].seen, HasSubstr("No device found"));
}

TEST(LogCases, AnInterfaceThatIsNotThere) {
    auto const list = faults_of(
        {{"job.log",
          "n1:1:2 [0] NCCL INFO Bootstrap : Using eno1:10.0.0.1<0>\n"
          "n2:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth1\n\n"
          "n2:1:2 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "n2");
    EXPECT_THAT(list[0].seen, HasSubstr("NCCL_SOCKET_IFNAME=eth1"));
    EXPECT_EQ(list[0].fix, "--set nccl.NCCL_SOCKET_IFNAME=\"=eno1\"");
}

TEST(LogCases, AFailureAtTheEndOfALongLogIsSeen) {
    std::string text(40u << 20, '.');
    for (std::size_t at = 99; at < text.size(); at += 100) text[at] = '\n';
    text += "\nn1:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got async error event: port error\n";
    EXPECT_EQ(faults_of({{"job.log", text}}).at(0).where, "n1");
}

// NVIDIA/nccl issue 1676: DGX OS replaced nv_peer_mem by nvidia_peermem.
TEST(LogCases, NvidiaPeermemBesideAnNcclThatDoesNotKnowIt) {
    auto const tree = [](std::string const& module, std::string const& version) {
        auto node = tests::RecordedTree::named("hgx_h100");
        node.write("proc/modules", "nvidia 1 0 - Live 0x0\n" + module + " 1 0 - Live 0x0\n");
        node.write("proc/driver/nvidia/version",
                   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri\n");
        std::filesystem::remove_all(node.root() / "sys/kernel/mm");
        std::string const front = "n1:7:8 [0] NCCL INFO ";
        node.write("nccl.log", "NCCL version " + version + "\n" + front +
                                   "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n" +
                                   front + "Channel 00/0 : 0[0] -> 4[0] [send] via NET/IB/0\n");
        auto const evidence = read_evidence(node.root());
        for (auto const& each : diagnose(*evidence).findings) {
            if (each.rule == "no-gpudirect") return each;
        }
        return Finding{};
    };
    auto const old = tree("nvidia_peermem", "2.21.5+cuda12.4");
    EXPECT_EQ(old.severity, Severity::fault);
    EXPECT_THAT(old.title, AllOf(HasSubstr("nvidia_peermem"), HasSubstr("2.21.5")));
    EXPECT_THAT(old.fix, AllOf(HasSubstr("2.23.4"), Not(HasSubstr("modprobe"))));
    auto const newer = tree("nvidia_peermem", "2.23.4+cuda12.6");
    EXPECT_EQ(newer.severity, Severity::fault);
    EXPECT_THAT(newer.fix, AllOf(Not(HasSubstr("2.23.4")), Not(HasSubstr("modprobe"))));
    EXPECT_THAT(tree("ib_core", "2.21.5+cuda12.4").fix, HasSubstr("modprobe nvidia_peermem"));
}

}  // namespace
}  // namespace osora::topology::doctor
