// Logs as people posted them, without any file of the machines: the doctor must name cause, node
// and fix. Names and addresses are others than in the reports; each test names its source.
#include "tests/unit/topology/doctor/log_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::topology::doctor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// NVIDIA/nccl issue 1267: one log a node.
std::string log_of_1267(int node, std::string const& version) {
    std::string const front = fmt::format("gpu-{0}:9821{0}:9821{0} [0] ", node);
    std::string text =
        front + fmt::format("NCCL INFO Bootstrap : Using ens7:10.0.0.3{}<0>\n", node);
    text += front + "NCCL INFO cudaDriverVersion 12000\nNCCL version " + version + "\n";
    return text + front +
           fmt::format("NCCL INFO NET/Socket : Using [0]ens7:10.0.0.3{}<0>\n", node) + front +
           "NCCL INFO Using network Socket\n";
}

TEST(LogCases, OneNodeHasAnotherNccl) {
    LogFiles files;
    for (int i = 2; i <= 4; ++i) {
        files[fmt::format("gpu-{}.log", i)] = log_of_1267(i, "2.19.3+cuda12.3");
    }
    files["gpu-1.log"] =
        log_of_1267(1, "2.14.3+cuda11.7") +
        "gpu-1:98211:98300 [0] NCCL INFO NET/Plugin: Loaded net plugin FastSocket (v4)\n\n"
        "gpu-1:98211:98300 [0] misc/socket.cc:441 NCCL WARN ncclSocketInit: connecting to address "
        "with family 0 is neither AF_INET(2) nor AF_INET6(10)\n";
    auto const diagnosis = diagnosis_of(files);
    EXPECT_EQ(diagnosis.nodes, 4);
    auto const list = faults(diagnosis);
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].nodes, ElementsAre("gpu-1"));
    EXPECT_EQ(list[0].title, "NCCL 2.14.3, most nodes have 2.19.3");
    EXPECT_THAT(list[0].fix, HasSubstr("bring it to 2.19.3"));
    EXPECT_THAT(diagnosis.findings, Contains(AllOf(Field(&Finding::title, HasSubstr("FastSocket")),
                                                   Field(&Finding::where, "gpu-1"))));
}

TEST(LogCases, TwoNodesWithTwoVersionsAreNamed) {
    auto const list = faults_of({{"a.out", log_of_1267(1, "2.14.3+cuda11.7")},
                                 {"b.out", log_of_1267(2, "2.19.3+cuda12.3")}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].seen, "2.14.3 on gpu-1; 2.19.3 on gpu-2");
}

TEST(LogCases, AVersionLineBelongsToItsLaunchersPrefix) {
    std::string text;
    for (int i : {1, 2, 3}) {
        text +=
            fmt::format("{}: gpu-{}:1{}:1{} [0] NCCL INFO cudaDriverVersion 12000\n", i, i, i, i);
    }
    for (auto const& [i, version] :
         {std::pair{3, "2.19.3+cuda12.3"}, std::pair{1, "2.14.3+cuda11.7"},
          std::pair{2, "2.19.3+cuda12.3"}}) {
        text += fmt::format("{}: NCCL version {}\n", i, version);
    }
    auto const list = faults_of({{"slurm-17.out", text}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_THAT(list[0].nodes, ElementsAre("gpu-1"));
}

TEST(LogCases, VersionsThatToolsMisreadAreTheSame) {
    // torch.cuda.nccl.version() of PyTorch 1.10: (21, 0, 3) for 2.10.3.
    auto const error = [](char const* version) {
        return fmt::format(
            "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:957, "
            "unhandled system error, NCCL version {}\n",
            version);
    };
    EXPECT_THAT(faults_of({{"a.log", log_of_1267(1, "2.10.3+cuda11.3") + error("21.0.3")},
                           {"b.log", log_of_1267(2, "2.10.3+cuda11.3") + error("2.10.3")}}),
                IsEmpty());
}

/// pytorch/pytorch issue 68893 (Ray on EC2) with a launcher's prefix.
std::string veth_log(std::string const& front) {
    std::string const host = front + "ip-10-0-0-137:14605:14673 [0] ";
    std::string const both =
        "[0]ens5:10.0.0.137<0> [1]veth75fa783:fe80::14ad:64ff:fe64:b31e%veth75fa783<0>\n";
    return host + "NCCL INFO Bootstrap : Using " + both + "\n" + host +
           "misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n" + host +
           "NCCL INFO NET/Socket : Using " + both + host + "NCCL INFO Using network Socket\n" +
           front + "NCCL version 2.7.8+cuda11.1\n";
}

class Prefix : public ::testing::TestWithParam<std::string> {};

TEST_P(Prefix, TheVethOfThatHostIsNamed) {
    auto const evidence = evidence_of({{"job.log", veth_log(GetParam())}});
    EXPECT_THAT(names(evidence), ElementsAre("ip-10-0-0-137"));
    EXPECT_THAT(evidence.nodes.at(0).log.versions, ElementsAre("2.7.8"));
    auto const list = faults(diagnose(evidence));
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "ip-10-0-0-137");
    EXPECT_THAT(list[0].title, HasSubstr("veth75fa783"));
    EXPECT_EQ(list[0].fix, "--set nccl.NCCL_SOCKET_IFNAME=\"=ens5\"");
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, Prefix,
    ::testing::Values(
        "", "\x1b[0m ", "\x1b[36m(Worker pid=754, ip=10.0.0.137)\x1b[0m ",
        "(pid=754, ip=10.0.0.137) ", "[0] ", "[0]", "0: ", "12:", "[rank0]:", "[rank0]: ",
        "[default4]:", "[1,0]<stdout>:", "[1,0]<stderr>: ", "[2024-05-01 10:00:00] ",
        "[2024-05-01 10:00:00,123] [1,3]<stdout>:", "Wed May  1 10:00:00 2024[1,0]<stdout>:",
        "2024-05-01T10:00:00.123456789Z stdout F ", "worker-0 | ", "2024-05-01 10:00:00 ",
        "[36m[default0]:[0m", "pod/train-worker-1/pytorch: ", "10:00:00 [0] INFO nccl: "));

TEST(LogCases, LinesThatDockerKeepsAsJson) {
    std::string json;
    std::string const text = veth_log("");
    for (std::size_t at = 0; at < text.size();) {
        std::size_t const end = text.find('\n', at);
        std::string line = text.substr(at, end - at);
        for (auto open = line.find('<'); open != std::string::npos; open = line.find('<')) {
            line.replace(open, 1, "\\u003c");
        }
        json += "{\"log\":\"" + line + "\\n\",\"stream\":\"stdout\",\"time\":\"2024-05-01\"}\n";
        at = end + 1;
    }
    auto const evidence = evidence_of({{"job.log", json}});
    EXPECT_THAT(names(evidence), ElementsAre("ip-10-0-0-137"));
    EXPECT_THAT(evidence.nodes.at(0).log.networks, ElementsAre("Socket"));
    EXPECT_EQ(evidence.nodes.at(0).log.addresses.at("ens5"), "10.0.0.137");
    EXPECT_EQ(faults(diagnose(evidence)).at(0).fix, "--set nccl.NCCL_SOCKET_IFNAME=\"=ens5\"");
}

TEST(LogCases, ARealLogOfADesktopWithContainersIsWell) {
    // One node, and NCCL says so: nothing has to leave the host.
    auto const diagnosis = diagnosis_of(
        {{"job.log",
          "d1:58239:58239 [0] NCCL INFO Bootstrap : Using eth0:172.26.190.235<0>\n"
          "d1:58239:58239 [0] NCCL INFO NCCL version 2.23.4+cuda12.1\n"
          "d1:58239:58245 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal "
          "network plugin.\n"
          "d1:58239:58245 [0] NCCL INFO NET/Socket : Using [0]eth0:172.26.190.235<0> "
          "[1]br-eaee979aadb0:172.19.0.1<0> [2]vethd14a450:fe80::c821%vethd14a450<0>\n"
          "d1:58239:58245 [0] NCCL INFO Using network Socket\n"
          "d1:58239:58245 [0] NCCL INFO comm 0x1 rank 0 nRanks 1 nNodes 1 localRanks 1 localRank 0 "
          "MNNVL 0\n"}});
    EXPECT_EQ(diagnosis.count(Severity::fault), 0);
    EXPECT_EQ(diagnosis.count(Severity::warning), 0);
}

/// NVIDIA/nccl issue 286: "lo is loopback so you won't be able to use it between two nodes".
std::string lo_log(std::string const& host, std::string const& interface) {
    return fmt::format(
        "{0}:22710:22710 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to {1}\n"
        "{0}:22710:22710 [0] NCCL INFO Bootstrap : Using [0]{1}:{2}<0>\n"
        "{0}:22710:22710 [0] NCCL INFO NET/Socket : Using [0]{1}:{2}<0>\n"
        "NCCL version 2.7.8+cuda11.0\n",
        host, interface, interface == "lo" ? "127.0.0.1" : "10.0.0.8");
}

TEST(LogCases, TheLoopbackLeadsNowhere) {
    auto const list =
        faults_of({{"gpu8.log", lo_log("gpu8", "lo")}, {"gpu9.log", lo_log("gpu9", "lo")}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "gpu8,gpu9");
    EXPECT_THAT(list[0].title, HasSubstr("lo leads to no other node"));
    EXPECT_THAT(list[0].seen, HasSubstr("set by NCCL_SOCKET_IFNAME=lo"));
    EXPECT_THAT(list[0].fix,
                AllOf(HasSubstr("unset NCCL_SOCKET_IFNAME"), Not(HasSubstr("INTERFACE"))));
}

TEST(LogCases, TheFixTakesTheInterfaceOfTheOtherNodes) {
    auto const list =
        faults_of({{"gpu8.log", lo_log("gpu8", "lo")}, {"gpu9.log", lo_log("gpu9", "eno1")}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "gpu8");
    EXPECT_EQ(list[0].fix, "--set nccl.NCCL_SOCKET_IFNAME=\"=eno1\"");
}

/// Lightning-AI/lit-llama issue 380 and NVIDIA/nccl issue 905.
TEST(LogCases, APortErrorIsTheCauseAndErrorTwelveItsEcho) {
    std::string text = "iter 83594: loss 1.9491, time: 6235.95ms\n";
    for (int i = 0; i < 8; ++i) {
        text += fmt::format(
            "node-48:3405{0}:3412{0} [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event "
            ": port error\n",
            i);
    }
    text +=
        "\nnode-51:73076:73185 [4] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from "
        "peer node48<37948> with error 12, opcode 2, len 1, vendor err 129\n";
    auto const diagnosis = diagnosis_of({{"job.log", text}});
    EXPECT_EQ(diagnosis.nodes, 2);
    auto const list = faults(diagnosis);
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "node-48");
    EXPECT_THAT(list[0].title, HasSubstr("port went down"));
    EXPECT_THAT(list[0].fix, AllOf(HasSubstr("\"node-48\""), Not(HasSubstr("node-51"))));
    EXPECT_THAT(diagnosis.findings,
                Contains(AllOf(
                    Field(&Finding::where, "node-51"),
                    Field(&Finding::title, HasSubstr("Secondary to the port error on node-48")))));
}

TEST(LogCases, APortErrorInTheWordsOfLaterVersions) {
    auto const diagnosis = diagnosis_of(
        {{"job.log",
          "[2025-02-10 10:40:04] gpu-606:1:2 [0] transport/net_ib.cc:232 NCCL WARN NET/IB : "
          "mlx5_0:1 "
          "Got async error event: port error\n"
          "[2025-02-10 10:40:09] gpu-607:3:4 [4] transport/net_ib.cc:2106 NCCL WARN NET/IB: Got "
          "completion from peer 10.0.0.6<41210> with status=IBV_WC_RETRY_EXC_ERR(12) "
          "opcode=IBV_WC_RDMA_WRITE(1) reqSize=0 vendor_err=129 req_type=Send hca mlx5_0\n"}});
    auto const list = faults(diagnosis);
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "gpu-606");
    EXPECT_THAT(list[0].seen, HasSubstr("mlx5_0"));
}

TEST(LogCases, EventsThatAreNoErrorsAreNone) {
    EXPECT_THAT(
        faults_of(
            {{"job.log",
              "n1:1:2 [0] transport/net_ib.cc:232 NCCL WARN NET/IB : mlx5_0:1 Got async error "
              "event: port active\n"
              "n1:1:2 [0] transport/net_ib.cc:232 NCCL WARN NET/IB : mlx5_0:1 Got async error "
              "event: client reregistration\n"
              "n1:1:2 [0] NCCL INFO Call to connect returned Connection refused, retrying\n"}}),
        IsEmpty());
}

TEST(LogCases, ErrorTwelveAloneNamesBothEnds) {
    auto const list = faults_of(
        {{"a.log",
          "n1:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
          "n2:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>\n"
          "n2:1:2 [0] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer "
          "10.0.0.1<37948> with status=12 opcode=32765 len=0 vendor err 129 (Send) hca mlx5_0\n"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "n2");
    EXPECT_THAT(list[0].title, HasSubstr("n1 no longer answered"));
    EXPECT_THAT(list[0].fix, HasSubstr("n1's own log and at the link counters of both ends"));
}

TEST(LogCases, AllThatLostOnePeerAreOneFinding) {
    std::string text = "n1:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n";
    for (int i = 2; i <= 5; ++i) {
        text += fmt::format(
            "n{}:1:2 [0] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer "
            "10.0.0.1<379{}> with error 12, opcode 0, len 0, vendor err 129\n",
            i, i);
    }
    auto const list = faults_of({{"a.log", text}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "n[2-5]");
    EXPECT_EQ(list[0].title, "n1 no longer answered over RDMA (status 12)");
}

TEST(LogCases, OneLogIsEnough) {
    tests::RecordedTree const folder;
    folder.write("train.txt", veth_log("0: "));
    auto const evidence = read_evidence(folder.root() / "train.txt");
    ASSERT_TRUE(evidence.has_value()) << evidence.error().message;
    EXPECT_THAT(faults(diagnose(*evidence)), SizeIs(1));
}

TEST(LogCases, LinesWithoutAHostAreOfTheirFile) {
    // Azure/azhpc-images issue 327: the host name had been taken out.
    auto const evidence = evidence_of(
        {{"gpu-a/out.log", "::16674:16674 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"},
         {"nccl.gpu-b.log", "NCCL INFO Bootstrap : Using eth0:10.1.0.4<0>\n"},
         {"README.txt", "How to read NCCL logs\n"}});
    EXPECT_THAT(names(evidence), ElementsAre("gpu-a", "gpu-b"));
    auto const list = faults(diagnose(evidence));
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].where, "gpu-a");
    EXPECT_EQ(list[0].fix, "--set nccl.NCCL_SOCKET_IFNAME=\"=eth0\"");
}

TEST(LogCases, MachinesOfOneNameAreToldApartByAddress) {
    LogFiles files;
    for (int i = 1; i <= 3; ++i) {
        files[fmt::format("rank{}.log", i)] = fmt::format(
            "localhost:{0}:{0} [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{0}<0>\n"
            "NCCL version {1}\n",
            i, i == 3 ? "2.18.1+cuda12.1" : "2.20.5+cuda12.4");
    }
    files["rank9.log"] =
        "localhost:9:9 [1] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
        "localhost:9:9 [1] NCCL INFO Using network Socket\n";
    auto const evidence = evidence_of(files);
    EXPECT_THAT(names(evidence), ElementsAre("localhost (10.0.0.1)", "localhost (10.0.0.2)",
                                             "localhost (10.0.0.3)"));
    EXPECT_THAT(faults(diagnose(evidence)).at(0).nodes, ElementsAre("localhost (10.0.0.3)"));
}

TEST(LogCases, NodesNamedByAddressAreCutAtTheirDot) {
    // NCCL writes "10" for the host 10.0.71.103.
    std::string text;
    for (int i : {3, 4}) {
        text += fmt::format(
            "10:47{0}:47{0} [0] NCCL INFO Bootstrap : Using eth0:10.0.71.10{0}<0>\n"
            "10:47{0}:47{0} [0] NCCL INFO NCCL version 2.2{0}.4+cuda12.6\n",
            i);
    }
    auto const evidence = evidence_of({{"job.log", text}});
    EXPECT_THAT(names(evidence), ElementsAre("10.0.71.103", "10.0.71.104"));
    EXPECT_EQ(faults(diagnose(evidence)).at(0).seen,
              "2.23.4 on 10.0.71.103; 2.24.4 on 10.0.71.104");
}

TEST(LogCases, ContainersOfOneNameInOneLog) {
    auto const evidence =
        evidence_of({{"job.log",
                      "localhost:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
                      "localhost:77:77 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>\n"
                      "localhost:77:78 [0] NCCL INFO Using network Socket\n"}});
    EXPECT_THAT(names(evidence), ElementsAre("localhost (10.0.0.1)", "localhost (10.0.0.2)"));
}

}  // namespace
}  // namespace osora::topology::doctor
