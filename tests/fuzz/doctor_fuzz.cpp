// Damaged logs, listings and probes at the doctor: no crash, and every finding is whole.
// OSORA_FUZZ_ROUNDS is small in the gate, large in the soak tier.
#include "protocol/json.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"
#include "topology/doctor/collect.hpp"
#include "topology/doctor/host_text.hpp"
#include "topology/doctor/rule.hpp"

#include <gtest/gtest.h>

namespace osora::fuzz {
namespace {

using namespace topology::doctor;

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 20'000);

void check(Diagnosis const& diagnosis, std::string const& input) {
    EXPECT_EQ(diagnosis.rules_checked + static_cast<int>(diagnosis.skipped.size()),
              static_cast<int>(rule_table().size()));
    for (auto const& each : diagnosis.findings) {
        EXPECT_FALSE(each.title.empty() || each.rule.empty()) << input;
        EXPECT_TRUE(each.impact >= 0 && each.impact <= 1) << each.rule << " " << each.impact;
    }
}

TEST(Fuzz, LogsAndListings) {
    std::vector<std::string> const corpus{
        "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:1<0>\n"
        "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA\n"
        "NCCL version 2.21.5+cuda12.4\nNCCL INFO NCCL_ALGO set by environment to Tree.\n",
        "NCCL INFO MNNVL busId 0x1 fabric UUID 0.0 cliqueId 0x0 state 3\nNCCL INFO GPU Direct RDMA "
        "Disabled for GPU 1 / HCA 0 (distance 8 > 4)\nNCCL WARN Call to ibv_modify_qp failed\n",
        "Max locked memory  65536 unlimited bytes\nshm /dev/shm tmpfs rw,size=65536k 0 0\n"
        "* soft memlock 64\n16:1c.0 PCI bridge: x\n\tACSCtl:\tSrcValid+ ReqRedir-\n",
        "GPU 00000000:1B:00.0\n    HW Slowdown : Active\n    Clocks\n        SM : 1200 MHz\n"
        "    Fabric\n        State : In Progress\nNVRM: Xid (PCI:0000:3b:00): 79, x\n",
        "AuthInfo = cred_expire=30\nJobRequeue = 1\n"};
    Mutator mutator(7);
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(corpus);
        Evidence evidence;
        auto& node = evidence.nodes.emplace_back();
        node.name = "n1";
        node.machine.emplace();
        node.machine->gpus.resize(2);
        for (auto const& [host, lines] : split_by_host(text)) add_nccl_log(node.log, lines);
        auto const limits = parse_limits(text);
        node.memlock_bytes =
            std::max(limits.memlock_bytes, parse_security_limits(text).memlock_bytes);
        node.open_files = limits.open_files;
        node.shm_bytes = shm_bytes_of(text, 1 << 30);
        EXPECT_GE(node.shm_bytes, 0) << text;
        node.gpus = parse_nvidia_smi(text).gpus;
        EXPECT_LE(acs_of_lspci(text).size(), text.size());
        EXPECT_LE(xids_of_dmesg(text).size(), 64u);
        evidence.slurm = parse_slurm_config(text);
        EXPECT_GE(evidence.slurm->cred_expire_s, 0);
        check(diagnose(evidence), text);
        if (HasFailure()) FAIL() << "round " << round << ": " << text;
    }
}

TEST(Fuzz, Probes) {
    std::vector<std::string> const corpus{
        R"({"nodes":["n1","n2"],"scores":[{"gbit_s":40,"of_median":1,"samples":5,"bad":false,)"
        R"("interface":"eth0"},{"gbit_s":12,"of_median":0.3,"samples":5,"bad":true}],)"
        R"("median_gbit_s":40,"pairs":[{"stage":"interface_one","round":0,"from":1,"to":0,)"
        R"("transport":"tcp","interface":"eth1","size_bytes":1073741824,"seconds":0.2}]})",
        R"({"nodes":["n1"],"collectives":[{"backend":"gloo","collective":"all_reduce","ranks":2,)"
        R"("nodes":2,"size_bytes":1024,"time_us":5},{"backend":"gloo","collective":"all_reduce",)"
        R"("ranks":2,"nodes":2,"size_bytes":2048,"time_us":500},{"backend":"gloo","collective":)"
        R"("all_reduce","ranks":2,"nodes":2,"size_bytes":4096,"time_us":9}],"storage":[{"node":0,)"
        R"("path":"/d","alone":true,"read_bytes_per_s":1e9,"open_us":300,"files":9}],)"
        R"("findings":[{"kind":"slow_node","nodes":["n1"],"where":"n1","ratio":0.3}]})"};
    Mutator mutator(11);
    int good = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(corpus);
        auto probe = protocol::decode<topology::ProbeResult>(text);
        if (probe.has_error()) continue;
        ++good;
        Evidence evidence;
        evidence.nodes.emplace_back().name = "n1";
        evidence.probe = std::move(*probe);
        check(diagnose(evidence), text);
        if (HasFailure()) FAIL() << "round " << round << ": " << text;
    }
    EXPECT_GT(good, kRounds / 100);
}

}  // namespace
}  // namespace osora::fuzz
