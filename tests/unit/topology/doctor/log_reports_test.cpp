// What people reported of logs: each test names the thread; hosts, addresses and times are others.
#include "tests/unit/topology/doctor/log_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace osora::topology::doctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Reports, AGpuThatFellOffTheBusWithoutAnXid) {
    // leptonai/gpud pull request 1209, NVIDIA/NVSentinel issue 155
    auto const found = finding_of(
        "Feb 14 05:03:41 gpu-7 kernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE\n"
        "Feb 14 05:03:42 gpu-7 kernel: NVRM: The NVIDIA GPU 0000:b3:00.0\n"
        "                               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
        "                               NVRM: fallen off the bus and is not responding to "
        "commands.\n");
    EXPECT_THAT(found.nodes, ElementsAre("gpu-7"));
    EXPECT_EQ(found.title, "The GPU at 0000:b3:00 has reported a fatal Xid");
    EXPECT_THAT(found.seen, HasSubstr("Xid 79 (it has fallen off the bus)"));
}

TEST(Reports, AnNvlinkErrorIsFatalWhereTheDriverSaysSo) {
    // leptonai/gpud pull request 1174
    auto const fatal = finding_of(
        "Feb 14 05:03:42 gpu-7 kernel: NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 "
        "(0x000fe406 0x00000000)\n");
    EXPECT_THAT(fatal.seen, HasSubstr("Xid 149 (NVLink error); Xid 149, NETIR Fatal"));
    auto const other = finding_of(
        "Feb 14 05:03:42 gpu-7 kernel: NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 "
        "Link 13 (0x0409a0c2 0x00000008)\n",
        Severity::info);
    EXPECT_EQ(other.seen, "Xid 145 (NVLink error)");
}

TEST(Reports, AChannelThatAnNvlinkErrorEndedIsNotTheProgramsFault) {
    // NVIDIA/open-gpu-kernel-modules issue 1150
    auto const found = finding_of(
        "May 18 10:00:00 gpu-7 kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, "
        "Ch 00000001 caused by previous Xid 149\n");
    EXPECT_THAT(found.seen, HasSubstr("Xid 149 (NVLink error), 45"));
}

TEST(Reports, TcpHasNoGpuDirect) {
    // NVIDIA/nccl issue 1519, huggingface/accelerate issue 2183
    for (char const* const net : {"FastSocket", "Socket"}) {
        std::string text;
        for (int const rank : {0, 1}) {
            std::string const head = fmt::format("h{}:13878:13953 [0] NCCL INFO ", rank);
            text += head + "NET/" + net + " : GPU Direct RDMA Disabled for HCA 0 'eth0'\n";
            text += head + "Using network " + net + "\n";
            text += head + "Channel 00/0 : 0[0] -> 1[0] [send] via NET/" + net + "/0\n";
        }
        auto const evidence = evidence_of({{"job.log", text}});
        EXPECT_THAT(diagnose(evidence).findings, IsEmpty()) << net;
        ASSERT_THAT(evidence.nodes, SizeIs(2));
        EXPECT_EQ(evidence.nodes[0].log.via_socket, 1);
        EXPECT_EQ(evidence.nodes[0].log.via_ib, 0);
    }
}

/// A node's log with RCCL's version in the form of ROCm 6.2 or, `since_6_3`, of later ones.
std::string rccl_log(int node, std::string const& version, bool since_6_3) {
    std::string const host = fmt::format("g{}:188802:188813 [0] NCCL INFO ", node);
    std::string const line = since_6_3
                                 ? fmt::format(
                                       "RCCL version : {}-HEAD:9a0e6a1\nHIP version  : "
                                       "6.3.42134-a9a80e791\n",
                                       version)
                                 : fmt::format("RCCL version {}+hip6.2 HEAD:d380693+\n", version);
    return fmt::format("{0}Bootstrap : Using eth0:100.64.47.7{1}<0>\n{2}{0}Using network Socket\n",
                       host, node, line);
}

TEST(Reports, NodesWithDifferentRccl) {
    // The lines: ROCm/rccl issue 1728, ROCm/rccl-tests issue 163
    for (bool const since_6_3 : {false, true}) {
        auto const list = faults_of({{"g1.log", rccl_log(1, "2.20.5", since_6_3)},
                                     {"g2.log", rccl_log(2, "2.18.6", since_6_3)},
                                     {"g3.log", rccl_log(3, "2.20.5", since_6_3)}});
        ASSERT_THAT(list, SizeIs(1)) << since_6_3;
        EXPECT_THAT(list[0].nodes, ElementsAre("g2"));
        EXPECT_EQ(list[0].title, "RCCL 2.18.6, most nodes have 2.20.5");
    }
    auto const mixed =
        faults_of({{"g1.log", rccl_log(1, "2.20.5", false) + rccl_log(1, "2.18.6", false)}});
    ASSERT_THAT(mixed, SizeIs(1));
    EXPECT_EQ(mixed[0].title, "Ranks of a node run different RCCLs");
}

TEST(Reports, ErrorsOfTheHardwareThatCudaMet) {
    // pytorch/pytorch issue 58155; marin-community/marin issue 8934
    for (char const* const words : {"uncorrectable NVLink error detected during the execution",
                                    "uncorrectable ECC error encountered",
                                    "Invalid access of peer GPU memory over nvlink or a hardware "
                                    "error"}) {
        auto const found = finding_of(
            fmt::format("n3:124031:124053 [2] enqueue.cc:1 NCCL WARN Cuda failure '{}'\n", words));
        EXPECT_EQ(found.rule, "gpu-health");
        EXPECT_THAT(found.title, HasSubstr("is broken"));
        EXPECT_THAT(found.fix, HasSubstr("n3"));
    }
}

TEST(Reports, TheKernelsLogNamesTheBrokenGpu) {
    auto const list = faults_of(
        {{"n3.log",
          "n3:124031:124053 [2] enqueue.cc:1 NCCL WARN Cuda failure 'uncorrectable NVLink error "
          "detected during the execution'\n"},
         {"n3.dmesg.txt", "[ 9.1] NVRM: Xid (PCI:0000:3b:00): 74, NVLink: fatal error\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].title, HasSubstr("0000:3b:00"));
}

TEST(Reports, AContainerWithoutAnImexChannel) {
    // NVIDIA/nccl issue 1925, microsoft/mscclpp issue 467
    std::string const failure =
        "[2025-11-30 05:55:16] pod-1:376:376 [1] include/alloc.h:228 NCCL WARN Cuda failure 800 "
        "'operation not permitted'\n";
    auto const found = finding_of(
        failure +
        "[2025-11-30 05:55:16] pod-1:376:376 [1] mnnvl.cc:67 NCCL WARN MNNVL (cliqueSize 8) is "
        "available but not working on this system. Check the IMEX channel configuration "
        "(/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to ignore this issue.\n");
    EXPECT_EQ(found.rule, "mnnvl");
    EXPECT_THAT(found.fix, HasSubstr("imex-channels/channel0"));
    EXPECT_EQ(finding_of(failure).rule, "mnnvl");
}

TEST(Reports, FabricManagerDoesNotRun) {
    // pytorch/pytorch issue 35710, gpustack/gpustack issue 4154
    auto const found = finding_of(
        "n5:100:100 [0] misc/cudawrap.cc:182 NCCL WARN Cuda failure 802 'system not yet "
        "initialized'\n");
    EXPECT_THAT(found.title, HasSubstr("error 802"));
    EXPECT_THAT(found.fix, HasSubstr("nvidia-fabricmanager"));
}

TEST(Reports, APeerAtALinkLocalAddress) {
    // skypilot-org/skypilot issue 4448 (Azure, solved with NCCL_SOCKET_IFNAME=eth0), NVIDIA/nccl
    // issues 975 and 1515
    auto const found = finding_of(
        "gpu8:43318:43318 [0] NCCL INFO Bootstrap : Using eth0:10.51.1.14<0>\n"
        "gpu8:43318:43467 [0] NCCL INFO NET/Socket : Using [0]eth0:10.51.1.14<0> "
        "[1]enP205s1:fe80::7e1e:52ff:fe3e:6d31%enP205s1<0>\n"
        "gpu8:43318:43470 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
        "fe80::7e1e:52ff:fe46:11c2%enP205s1<40611> failed : Software caused connection abort\n");
    EXPECT_EQ(found.title,
              "A peer is to be reached at fe80::7e1e:52ff:fe46:11c2%enP205s1, which holds on its "
              "own link alone");
    EXPECT_EQ(found.fix, "--set nccl.NCCL_SOCKET_IFNAME=\"=eth0\"");
}

TEST(Reports, APeerAtTheLoopbackAddress) {
    auto const found = finding_of(
        "p0:4:9 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 127.0.0.1<45069> "
        "failed : Software caused connection abort\n");
    EXPECT_EQ(found.title, "A peer is to be reached at 127.0.0.1, which leads to no other node");
    EXPECT_THAT(found.fix, HasSubstr("NCCL_SOCKET_IFNAME"));
}

TEST(Reports, OtherWordsForAFailedConnection) {
    // horovod/horovod issues 584 and 666, NVIDIA/nccl pull request 1618
    for (char const* const words : {"Call to connect timeout : Connection refused",
                                    "socketPollConnect poll() returned 1, no POLLOUT events"}) {
        auto const found =
            finding_of(fmt::format("g-1:5:9 [0] misc/socket.cc:586 NCCL WARN {}\n", words));
        EXPECT_EQ(found.title, "NCCL could not connect to a peer over TCP");
    }
}

TEST(Reports, ARunThatHangsWhileItConnects) {
    // GoogleCloudPlatform/cluster-toolkit issue 3032, wenet-e2e/wenet issue 959
    std::string const start =
        "a3-0:77:190 [0] NCCL INFO Using network GPUDirectTCPX_v7\n"
        "a3-0:77:190 [0] NCCL INFO Call to connect returned Connection refused, retrying\n";
    EXPECT_THAT(finding_of(start, Severity::warning).title, HasSubstr("kept trying to connect"));
    auto const went_on = diagnosis_of(
        {{"job.log", start + "a3-0:77:190 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId "
                             "36000 - Init COMPLETE\n"}});
    EXPECT_THAT(went_on.findings, IsEmpty());
    auto const of_subsystem_net = diagnosis_of(
        {{"job.log", start + "a3-0:77:190 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via "
                             "NET/GPUDirectTCPX_v7/0\n"}});
    EXPECT_THAT(of_subsystem_net.findings, IsEmpty());
}

TEST(Reports, APortOfAnotherContainer) {
    // NVIDIA/nccl issues 799 and 925
    auto const found = finding_of(
        "w-0:76786:77145 [3] misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error "
        "No such device\n");
    EXPECT_THAT(found.title, HasSubstr("not this container's"));
    EXPECT_THAT(found.fix, AllOf(HasSubstr("NCCL_IB_HCA"), Not(HasSubstr("CROSS_NIC"))));
}

TEST(Reports, GidsOfOtherContainers) {
    // NVIDIA/nccl issues 1573 (mended in 2.26) and 1538 (NCCL_IB_GID_INDEX helps)
    auto const found = finding_of(
        "pod-1:5:9 [1] transport/net_ib.cc:295 NCCL WARN NET/IB: read failed in "
        "ncclIbRoceGetVersionNum: Invalid argument\n");
    EXPECT_EQ(found.rule, "gid-index");
    EXPECT_THAT(found.fix, AllOf(HasSubstr("2.26"), HasSubstr("NCCL_IB_GID_INDEX")));
}

TEST(Reports, EfaThatDoesNotGetThrough) {
    // aws/aws-ofi-nccl issue 663, NVIDIA/nccl issue 229
    for (char const* const words :
         {"create_send_comm:4210 NCCL WARN NET/OFI Unable to insert remote address into address "
          "vector for device 1. RC: -22",
          "get_ofi_provider:312 NCCL WARN NET/OFI Could not find any optimal provider"}) {
        auto const found = finding_of(fmt::format("ip-10-0-170-2:4012:4080 [0] {}\n", words));
        EXPECT_EQ(found.rule, "efa-blocked");
    }
}

/// As PyTorch's exceptions end, with `prefix` in front of each line.
std::string exception_text(std::string const& prefix, std::string const& last_error) {
    return prefix +
           "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1331, "
           "unhandled "
           "system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.18.5\n" +
           prefix + "ncclSystemError: System call (e.g. socket, malloc) failed or device error.\n" +
           prefix + "Last error:\n" + prefix + last_error + "\n";
}

TEST(Reports, TheLastErrorOfAPythonException) {
    // awslabs/awsome-distributed-ai issue 192 (srun -l), pytorch/pytorch pull request 177472
    for (char const* const prefix :
         {"", "10: ", "[rank3]: ", "2024-03-09T10:00:01.123456789Z stderr F "}) {
        auto const found = finding_of(exception_text(
            prefix,
            "socketStartConnect: Connect to 127.0.0.1<45069> failed : Software caused "
            "connection abort"));
        EXPECT_THAT(found.title, HasSubstr("A peer is to be reached at 127.0.0.1")) << prefix;
        EXPECT_THAT(found.nodes, ElementsAre("job"));
    }
    auto const nvls = finding_of(exception_text(
        "[rank3]: ",
        "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401"));
    EXPECT_EQ(nvls.rule, "nvls");
}

TEST(Reports, TheLastErrorOfAnExceptionInOneLine) {
    auto const found = finding_of(
        "(RayTrainWorker pid=7) DistBackendError(\"NCCL error in: ProcessGroupNCCL.cpp:1331, "
        "unhandled cuda error, NCCL version 2.18.5\\nncclUnhandledCudaError: Call to CUDA function "
        "failed.\\nLast error:\\nCuda failure 2 'out of memory'\")\n");
    EXPECT_EQ(found.rule, "gpu-use");
}

TEST(Reports, LinesOfOtherRanksBetweenThoseOfAnException) {
    auto text = exception_text("[rank3]: ", "Cuda failure 2 'out of memory'");
    text.insert(text.find("[rank3]: Cuda"), "[rank5]: Traceback (most recent call last):\n");
    EXPECT_EQ(finding_of(text).rule, "gpu-use");
}

TEST(Reports, NcclsOwnWarningsNameTheHost) {
    auto const found = finding_of(
        "n2:5:9 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.7<45069> "
        "failed : Software caused connection abort\n"
        "n1:5:9 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n" +
        exception_text("", "socketStartConnect: Connect to 10.0.0.7<45069> failed"));
    EXPECT_THAT(found.nodes, ElementsAre("n2"));
}

TEST(Reports, WithoutALastErrorPytorchsExceptionIsRepeated) {
    // The first: NVIDIA/nccl issue 875
    for (std::string const& text :
         {std::string("RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1191, unhandled system "
                      "error, NCCL version 2.10.3\n"),
          exception_text("", "") + "frame #0: c10::Error::Error\n",
          exception_text("", "Exception raised from x")}) {
        auto const found = finding_of(text, Severity::warning);
        EXPECT_EQ(found.title, "PyTorch ended with an error of NCCL");
        EXPECT_THAT(found.fix, HasSubstr("NCCL_DEBUG=INFO"));
    }
}

TEST(Reports, GpuAndNicThatAreTooFarApart) {
    // NVIDIA/nccl issues 1657 and 1866 (virtual machines)
    std::string const text =
        "gpu03:113:118 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.9.0.2<0>\n"
        "gpu03:113:118 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 8 > 5)\n"
        "gpu03:113:118 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0";
    auto const found = finding_of(text + "\n", Severity::warning);
    EXPECT_EQ(found.rule, "gdr-distance");
    EXPECT_EQ(found.seen, "log: distance 8 > 5");
    EXPECT_THAT(found.fix, HasSubstr("NCCL_TOPO_FILE"));
    EXPECT_THAT(diagnosis_of({{"job.log", text + "/GDRDMA\n"}}).findings, IsEmpty());
}

TEST(Reports, CudaFailedOnARank) {
    // modelscope/ms-swift issue 3264; axolotl-ai-cloud/axolotl issue 1473 (older words)
    auto const found = finding_of(
        "[rank2]:[E225 13:49:33.912673914 ProcessGroupNCCL.cpp:1595] [PG ID 1 PG GUID 3 Rank 0] "
        "Process group watchdog thread terminated with exception: CUDA error: an illegal "
        "instruction was encountered\n");
    EXPECT_EQ(found.rule, "collective-timeout");
    EXPECT_EQ(found.title, "CUDA failed on rank 2: an illegal instruction was encountered");
    auto const older = finding_of(
        "[E ProcessGroupNCCL.cpp:915] [Rank 3] NCCL watchdog thread terminated with exception: "
        "CUDA "
        "error: an illegal memory access was encountered\n");
    EXPECT_THAT(older.title, HasSubstr("rank 3: an illegal memory access"));
}

TEST(Reports, CudaFailedOnARankOfSeveralHosts) {
    std::string text;
    for (int const rank : {0, 1}) {
        text += fmt::format(
            "n{0}:4711:4720 [0] NCCL INFO comm 0x5 rank {0} nranks 2 cudaDev 0 busId 36000 - Init "
            "COMPLETE\n",
            rank);
    }
    auto const list = faults_of(
        {{"job.log", text + "[rank0]:[E225 13:49:33.9 ProcessGroupNCCL.cpp:1595] [PG ID 0 PG GUID "
                            "0(default_pg) Rank 0] Process group watchdog thread terminated with "
                            "exception: CUDA error: an illegal memory access was encountered\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].nodes, ElementsAre("n0"));
}

TEST(Reports, AWatchdogThatEndedByATimeoutIsATimeout) {
    auto const found = finding_of(
        "[rank7]:[E225 13:49:33.9 ProcessGroupNCCL.cpp:1595] [PG ID 0 PG GUID 0(default_pg) Rank "
        "7] "
        "Process group watchdog thread terminated with exception: [Rank 7] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=4486, OpType=ALLTOALL, NumelIn=4, "
        "NumelOut=4, "
        "Timeout(ms)=600000) ran for 600013 milliseconds before timing out.\n");
    EXPECT_EQ(found.title, "Collective 4486 (ALLTOALL) timed out on rank 7");
}

TEST(Reports, RanksThatCouldNotFetchTheId) {
    // pytorch/pytorch issues 131781 and 82091 (older, "retreiving")
    for (char const* const words :
         {"retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but "
          "store->get('0') got error: Connection reset by peer",
          "retreiving ncclUniqueId from [0] via c10d key-value store by key '0', but "
          "store->get('0') got error: Timeout waiting for key: default_pg/0/0 after 1800000 ms"}) {
        auto const found = finding_of(
            fmt::format("[rank15]: torch.distributed.DistBackendError: [15] is setting up NCCL "
                        "communicator and {}\n",
                        words),
            Severity::warning);
        EXPECT_THAT(found.title, HasSubstr("from rank 0"));
        EXPECT_THAT(found.fix, HasSubstr("rank 0's own log"));
    }
}

TEST(Reports, RdmaThatWasAskedForIsNotFound) {
    // NVIDIA/nccl issues 952 and 958: "it simply means the OS could not find a usable NIC"
    auto const text = [](std::string const& hca, std::string const& rest = "") {
        std::string const head = "g1:5:9 [0] NCCL INFO ";
        return head + "NCCL_IB_HCA set by environment to " + hca + "\n" + rest + head +
               "NET/IB : No device found.\n" + head + "Using network Socket\n";
    };
    auto const found = finding_of(text("mlx5_9"));
    EXPECT_EQ(found.rule, "tcp-instead-of-rdma");
    EXPECT_EQ(found.title, "NCCL uses TCP: it found no RDMA device, NCCL_IB_HCA asks for mlx5_9");
    EXPECT_THAT(diagnosis_of({{"job.log", text("^mlx5_0")}}).findings, IsEmpty());
    auto const on_one_node =
        text("mlx5_9") + "g1:5:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
    EXPECT_THAT(diagnosis_of({{"job.log", on_one_node}}).findings, IsEmpty());
    auto const of_one_rank =
        text("mlx5_9") +
        "g1:5:9 [0] NCCL INFO comm 0x5 rank 0 nranks 1 cudaDev 0 busId 36000 - "
        "Init COMPLETE\n";
    EXPECT_THAT(diagnosis_of({{"job.log", of_one_rank}}).findings, IsEmpty());
    EXPECT_THAT(
        diagnosis_of(
            {{"job.log",
              text("mlx5", "g1:5:9 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n")}})
            .findings,
        IsEmpty());
}

}  // namespace
}  // namespace osora::topology::doctor
