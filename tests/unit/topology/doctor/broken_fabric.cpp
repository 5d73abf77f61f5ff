// Fabrics, probes and runs that are broken, also as NCCL logs it.
#include "tests/unit/topology/doctor/broken.hpp"

#include <algorithm>

namespace osora::tests {
namespace {

using namespace topology;
using namespace topology::doctor;

void say(Evidence& evidence, std::string const& line) {
    add_nccl_log(node(evidence).log, "n3:4711:4720 [0] " + line + "\n");
}

RunEvidence& run(Evidence& evidence) {
    evidence.run = RunEvidence{
        .nodes = 16, .ranks = 128, .own_settings = {}, .collectives = "bucketed", .late_node = {}};
    return *evidence.run;
}

std::vector<BrokenCase> const kLogs{
    {.rule = "gpu-use",
     .kind = "roce",
     .where = "n3",
     .says = "Two ranks use one GPU",
     .damage =
         [](Evidence& e) {
             say(e,
                 "NCCL WARN Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 1000");
         }},
    {.rule = "collective-timeout",
     .kind = "cpu",
     .where = "n3",
     .says = "different collectives",
     .damage =
         [](Evidence& e) {
             say(e,
                 "NCCL WARN NET/Socket : peer 10.0.0.2<5> message truncated : receiving 65536 "
                 "bytes "
                 "instead of 4096");
         }},
    {.rule = "nccl-warnings",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "n3",
     .says = "ibv_create_qp failed",
     .damage = [](Evidence& e) { say(e, "NCCL WARN Call to ibv_create_qp failed"); }},
    {.rule = "tcp-instead-of-rdma",
     .kind = "roce",
     .where = "n3",
     .says = "No device found",
     .damage =
         [](Evidence& e) {
             say(e, "NCCL INFO NET/IB : No device found.");
             say(e, "NCCL INFO Using network Socket");
         }},
    {.rule = "tcp-instead-of-rdma",
     .kind = "efa",
     .where = "n3",
     .says = "aws-ofi",
     .damage =
         [](Evidence& e) {
             say(e, "NCCL INFO NET/Plugin: Could not find: libnccl-net-aws-ofi.so.");
         }},
    {.rule = "wrong-interface",
     .kind = "cpu",
     .where = "n3",
     .says = "docker0",
     .damage =
         [](Evidence& e) { say(e, "NCCL INFO NET/Socket : Using [0]docker0:172.17.0.1<0>"); }},
    {.rule = "no-gpudirect",
     .kind = "roce",
     .where = "n3",
     .says = "none with GDRDMA",
     .damage =
         [](Evidence& e) { say(e, "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0"); }},
    {.rule = "gdr-distance",
     .severity = kWarning,
     .kind = "roce",
     .where = "n3",
     .says = "distance 8 > 4",
     .damage =
         [](Evidence& e) {
             say(e, "NCCL INFO GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 8 > 4)");
         }},
    {.rule = "gid-index",
     .kind = "roce",
     .where = "n3",
     .says = "No data available",
     .damage =
         [](Evidence& e) {
             say(e, "NCCL WARN Call to ibv_modify_qp failed with 61 No data available");
         }},
    {.rule = "nics-unused",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "1 of 8",
     .damage =
         [](Evidence& e) {
             auto& log = node(e).log;
             log.nics_used = {0};
         }},
    {.rule = "nics-unused",
     .kind = "roce",
     .where = "n3",
     .says = "2 of 8",
     .damage =
         [](Evidence& e) {
             say(e, "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0");
         }},
    {.rule = "cross-rail",
     .kind = "roce",
     .where = "n3",
     .says = "errno 110",
     .damage =
         [](Evidence& e) {
             say(e,
                 "NCCL WARN Call to ibv_modify_qp failed with error Connection timed out errno "
                 "110");
         }},
    {.rule = "link-errors",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "grew by 2",
     .damage =
         [](Evidence& e) {
             node(e).counters.push_back({"mlx5_2", "link_downed", 5, 3});
         }},
    {.rule = "link-errors",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "status=12",
     .damage =
         [](Evidence& e) {
             say(e,
                 "NCCL WARN NET/IB : Got completion from peer 10.0.0.2<51234> with status=12 "
                 "opcode=0 len=0 vendor err 129 (Recv)");
         }},
    {.rule = "efa-blocked",
     .kind = "efa",
     .where = "n3",
     .says = "No eligible providers",
     .damage =
         [](Evidence& e) { say(e, "NCCL WARN NET/OFI Failed: No eligible providers were found"); }},
    {.rule = "peer-access",
     .kind = "roce",
     .where = "n3",
     .says = "via SHM",
     .damage =
         [](Evidence& e) { say(e, "NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"); }},
    {.rule = "nvls",
     .kind = "roce",
     .where = "n3",
     .says = "not available",
     .damage =
         [](Evidence& e) { say(e, "NCCL INFO NVLS multicast support is not available on dev 0"); }},
    {.rule = "mnnvl",
     .kind = "gb200",
     .where = "n3",
     .says = "state 2",
     .damage =
         [](Evidence& e) {
             say(e,
                 "NCCL INFO MNNVL busId 0x9000 fabric UUID 7d1c.1 cliqueId 0x0 state 2 "
                 "healthMask 0x0");
         }},
    {.rule = "shm",
     .kind = "geforce",
     .where = "n3",
     .says = "shared memory segment",
     .damage =
         [](Evidence& e) {
             say(e,
                 "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-XZ (size "
                 "9637888)");
         }},
    {.rule = "memlock",
     .kind = "roce",
     .where = "n3",
     .says = "ibv_reg_mr",
     .damage =
         [](Evidence& e) {
             say(e, "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory");
         }},
    {.rule = "open-files",
     .kind = "cpu",
     .where = "n3",
     .says = "Too many open files",
     .damage =
         [](Evidence& e) { say(e, "NCCL WARN Call to socket failed : Too many open files"); }},
    {.rule = "mixed-versions",
     .kind = "cpu",
     .where = "n3",
     .says = "Mismatched",
     .damage =
         [](Evidence& e) {
             say(e,
                 "NCCL WARN Mismatched NCCL version detected : rank 0 version 22105 rank 8 "
                 "version 22005");
         }},
};

std::vector<BrokenCase> const kMeasurements{
    {.rule = "pair-bandwidth",
     .kind = "cpu",
     .where = "n3",
     .says = "0.31 of the median",
     .damage =
         [](Evidence& e) {
             e.probe->scores[2].bad = true;
             e.probe->scores[2].of_median = 0.31;
         },
     .probed = true},
    {.rule = "wrong-interface",
     .kind = "cpu",
     .where = "n3",
     .says = "eth1 measured",
     .damage =
         [](Evidence& e) {
             e.probe->scores[2].interface = "eth1";
             constexpr std::int64_t kSize = 1 << 25;
             for (auto const& [name, seconds] : {std::pair{"eth0", 0.03}, {"eth1", 0.3}}) {
                 e.probe->pairs.push_back(
                     {ProbeStage::interface_one, 0, 2, 0, "tcp", name, kSize, seconds});
             }
         },
     .probed = true},
    {.rule = "oversubscribed",
     .severity = kWarning,
     .kind = "cpu",
     .where = "all",
     .says = "all pairs at once",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.probe->pairs) {
                 if (each.stage == ProbeStage::leaf_all) each.seconds *= 3;
             }
         },
     .probed = true},
    {.rule = "two-modes",
     .severity = kWarning,
     .kind = "roce",
     .where = "all",
     .says = "samples near",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.probe->pairs) {
                 bool const collides = (each.from + each.round) % 2 == 0;
                 if (each.stage == ProbeStage::matching && collides) each.seconds *= 2;
             }
         },
     .probed = true},
    {.rule = "nccl-below-wire",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "all",
     .says = "one NIC 400 Gbit/s",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.probe->pairs) each.transport = "nccl";
         },
     .probed = true},
    {.rule = "nccl-below-wire",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "all",
     .says = "NCCL 125 Gbit/s, one NIC 400 Gbit/s",
     .damage =
         [](Evidence& e) {
             // algbw 533 Gbit/s, busbw 1000: of two nodes with eight NICs each.
             e.probe->collectives = {{"nccl", "all_reduce", 16, 2, 1 << 30, 16'106}};
         },
     .probed = true},
    {.rule = "size-dip",
     .severity = kWarning,
     .kind = "cpu",
     .where = "all",
     .says = "32.0 MiB",
     .damage = [](Evidence& e) { e.probe->collectives[1].time_us = 9e6; },
     .probed = true},
    {.rule = "busbw",
     .severity = kInfo,
     .kind = "roce",
     .where = "all",
     .says = "3200 Gbit/s",
     .damage =
         [](Evidence& e) {
             e.probe->collectives = {{"nccl", "all_reduce", 16, 2, 1 << 30, 4000}};
         },
     .probed = true},
    {.rule = "storage",
     .severity = kWarning,
     .kind = "cpu",
     .where = "n3",
     .says = "median 2000 MB/s",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.probe->storage) {
                 if (each.node == 2 && each.alone) each.read_bytes_per_s = 1e8;
             }
         },
     .probed = true},
    {.rule = "storage",
     .severity = kWarning,
     .kind = "cpu",
     .where = "all",
     .says = "all at once",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.probe->storage) {
                 if (!each.alone) each.read_bytes_per_s = 2e8;
             }
         },
     .probed = true},
    {.rule = "small-collectives",
     .kind = "cpu",
     .where = "all",
     .says = "per_parameter",
     .damage = [](Evidence& e) { run(e).collectives = "per_parameter"; }},
    {.rule = "straggler",
     .severity = kWarning,
     .kind = "cpu",
     .where = "n3",
     .says = "last to arrive in 45 of 50",
     .damage =
         [](Evidence& e) {
             auto& it = run(e);
             it.late_rank = 17;
             it.late_node = "n3";
             it.late_share = 0.2;
             it.late_steps = 45;
             it.of_steps = 50;
         }},
    {.rule = "requeue",
     .severity = kInfo,
     .kind = "cpu",
     .where = "all",
     .says = "cred_expire=120",
     .damage = [](Evidence& e) { e.slurm = SlurmEvidence{}; }},
    {.rule = "requeue",
     .severity = kWarning,
     .kind = "cpu",
     .where = "all",
     .says = "JobRequeue=0",
     .damage = [](Evidence& e) { e.slurm = SlurmEvidence{.job_requeue = false}; }},
};

}  // namespace

std::vector<BrokenCase> broken_fabric() {
    auto cases = kLogs;
    std::ranges::copy(kMeasurements, std::back_inserter(cases));
    return cases;
}

std::vector<BrokenCase> broken_cases() {
    auto cases = broken_nodes();
    std::ranges::move(broken_settings(), std::back_inserter(cases));
    std::ranges::move(broken_fabric(), std::back_inserter(cases));
    return cases;
}

}  // namespace osora::tests
