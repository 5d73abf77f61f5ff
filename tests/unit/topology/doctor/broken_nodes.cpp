// Machines that are broken, and their limits.
#include "tests/unit/topology/doctor/broken.hpp"

#include <algorithm>

namespace osora::tests {
namespace {

using namespace topology;
using namespace topology::doctor;

Nic& nic(NodeEvidence& node, std::string_view device) {
    return *std::ranges::find(node.machine->nics, device, &Nic::device);
}

std::vector<BrokenCase> const kDevices{
    {.rule = "no-gpudirect",
     .kind = "roce",
     .where = "n3",
     .says = "nvidia_peermem",
     .damage =
         [](Evidence& e) {
             node(e).modules->erase("nvidia_peermem");
             node(e).modules->erase("efa");
         }},
    {.rule = "gdr-distance",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "all",
     .says = "SYS",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) {
                 each.log = {};
                 for (auto& device : each.machine->pci) {
                     for (auto const& gpu : each.machine->gpus) {
                         if (device.address == gpu.address)
                             device.host = "pci0000:f0", device.parent = "0000:f0:00.0",
                             device.numa = 7;
                     }
                 }
             }
         }},
    {.rule = "acs",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "1 bridges",
     .damage = [](Evidence& e) { node(e).machine->pci[2].acs = "on"; }},
    {.rule = "gid-index",
     .kind = "roce",
     .where = "n3",
     .says = "link-local",
     .damage = [](Evidence& e) { set(node(e), "NCCL_IB_GID_INDEX", "1"); },
     .also = {"settings-differ"}},
    {.rule = "gid-index",
     .severity = kWarning,
     .kind = "roce",
     .where = "all",
     .says = "NCCL 2.21.5",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_IB_GID_INDEX", "3");
             for (auto& each : e.nodes) each.versions["nccl"] = "2.21.5";
         }},
    {.rule = "gid-index",
     .kind = "roce",
     .where = "all",
     .says = "RoCE v1",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) {
                 each.versions["nccl"] = "2.18.3";
                 nic(each, "mlx5_0").gids[0].value = "2001:0db8::1";
             }
         }},
    {.rule = "roce-loss",
     .kind = "roce",
     .where = "n3",
     .says = "grew by 812",
     .damage =
         [](Evidence& e) {
             node(e).counters.push_back({"mlx5_4", "packet_seq_err", 912, 100});
         }},
    {.rule = "roce-loss",
     .severity = kInfo,
     .kind = "roce",
     .where = "n3",
     .says = "a second reading",
     .damage =
         [](Evidence& e) {
             node(e).counters.push_back({"mlx5_4", "packet_seq_err", 912, {}});
         }},
    {.rule = "traffic-class",
     .severity = kWarning,
     .kind = "roce",
     .where = "all",
     .says = "106",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_IB_TC", "160");
             for (auto& each : e.nodes) each.traffic_class["mlx5_0"] = 106;
         }},
    {.rule = "queue-pairs",
     .severity = kWarning,
     .kind = "roce",
     .where = "all",
     .says = "mlx5_bond_0",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) nic(each, "mlx5_0").device = "mlx5_bond_0";
         }},
    {.rule = "hca-setting",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "all",
     .says = "7 of 8",
     .damage = [](Evidence& e) { set_all(e, "NCCL_IB_HCA", "=mlx5_1"); }},
    {.rule = "hca-setting",
     .kind = "hgx-ib",
     .where = "all",
     .says = "names no port",
     .damage = [](Evidence& e) { set_all(e, "NCCL_IB_HCA", "=irdma0"); }},
    {.rule = "hca-setting",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "all",
     .says = "mlx5_10",
     .damage =
         [](Evidence& e) {
             set_all(e, "NCCL_IB_HCA", "mlx5_1");
             for (auto& each : e.nodes) nic(each, "mlx5_7").device = "mlx5_10";
         }},
    {.rule = "nic-missing",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "mlx5_5 is not there",
     .damage =
         [](Evidence& e) {
             std::erase_if(node(e).machine->nics,
                           [](Nic const& n) { return n.device == "mlx5_5"; });
         },
     .also = {"topology-differs"}},
    {.rule = "nic-missing",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "mlx5_5 is down",
     .damage = [](Evidence& e) { nic(node(e), "mlx5_5").up = false; }},
    {.rule = "nic-missing",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "100 Gbit/s",
     .damage = [](Evidence& e) { nic(node(e), "mlx5_5").rate_gbit = 100; }},
    {.rule = "nic-missing",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "n1",
     .says = "mlx5_5 is down",
     .damage = [](Evidence& e) { nic(node(e, 0), "mlx5_5").up = false; },
     .nodes = 1},
    {.rule = "gpu-missing",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "7 GPUs",
     .damage = [](Evidence& e) { node(e).machine->gpus.pop_back(); }},
    {.rule = "pcie-downgrade",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "mlx5_3 trained down to PCIe gen3 x8 (max gen5 x16)",
     .damage =
         [](Evidence& e) {
             nic(node(e), "mlx5_3").link = {8, 32, 8, 16};
         }},
    {.rule = "pcie-downgrade",
     .kind = "geforce",
     .where = "n1",
     .says = "GPU 2",
     .damage = [](Evidence& e) { node(e, 0).machine->gpus[2].link.current_width = 4; },
     .nodes = 1},
    {.rule = "pcie-downgrade",
     .severity = kInfo,
     .kind = "geforce",
     .where = "all",
     .says = "2.5 GT/s",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) {
                 for (auto& gpu : each.machine->gpus) gpu.link.current_gt_s = 2.5;
             }
         }},
    {.rule = "topology-differs",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "n3",
     .says = "7 of 8 GPUs",
     .damage =
         [](Evidence& e) {
             auto& nics = node(e).machine->nics;
             nics[0].address = nics[1].address;
         }},
    {.rule = "few-cpus",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "8 CPUs for 8 GPUs",
     .damage = [](Evidence& e) { node(e).cpus_allowed = "0-3,56-59"; }},
    {.rule = "few-cpus",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "n3",
     .says = "NUMA node 1",
     .damage = [](Evidence& e) { node(e).cpus_allowed = "0-55"; }},
    {.rule = "rank-cpus",
     .kind = "cpu",
     .where = "n3",
     .says = "4 ranks share 1 CPU",
     .damage =
         [](Evidence& e) {
             for (int rank = 8; rank < 12; ++rank) node(e).rank_cpus[rank] = "0";
         }},
    {.rule = "shm",
     .kind = "geforce",
     .where = "all",
     .says = "64.0 MiB",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) each.shm_bytes = 64 << 20;
         }},
    {.rule = "memlock",
     .kind = "roce",
     .where = "n3",
     .says = "64.0 KiB",
     .damage = [](Evidence& e) { node(e).memlock_bytes = 65536; }},
    {.rule = "open-files",
     .severity = kWarning,
     .kind = "cpu",
     .where = "all",
     .says = "1024",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) each.open_files = 1024;
         }},
    {.rule = "iommu",
     .severity = kWarning,
     .kind = "geforce",
     .where = "all",
     .says = "intel_iommu=on",
     .damage =
         [](Evidence& e) {
             for (auto& each : e.nodes) {
                 each.iommu = Iommu::translated;
                 each.iommu_seen = "intel_iommu=on without iommu=pt";
             }
         }},
    {.rule = "nvls",
     .severity = kWarning,
     .kind = "roce",
     .where = "all",
     .says = "NCCL_NVLS_ENABLE=0",
     .damage = [](Evidence& e) { set_all(e, "NCCL_NVLS_ENABLE", "0"); }},
    {.rule = "nvls",
     .kind = "roce",
     .where = "n3",
     .says = "In Progress",
     .damage = [](Evidence& e) { node(e).fabric_state = "In Progress"; }},
    {.rule = "mnnvl",
     .kind = "gb200",
     .where = "n3",
     .says = "imex",
     .damage = [](Evidence& e) { node(e).has_imex_channels = false; }},
    {.rule = "mtu",
     .severity = kWarning,
     .kind = "cpu",
     .where = "n3",
     .says = "9000",
     .damage = [](Evidence& e) { node(e).machine->nics[0].mtu = 9000; }},
    {.rule = "gpu-health",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "Xid 79",
     .damage = [](Evidence& e) { node(e).gpus[3].xids = {79}; }},
    {.rule = "gpu-health",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "Recovery Action Reset",
     .damage = [](Evidence& e) { node(e).gpus[3].recovery_action = "Reset"; }},
    {.rule = "gpu-health",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "memory row",
     .damage = [](Evidence& e) { node(e).gpus[3].remap_failed = true; }},
    {.rule = "gpu-health",
     .kind = "hgx-ib",
     .where = "n3",
     .says = "hardware thermal at 91 C",
     .damage =
         [](Evidence& e) {
             node(e).gpus[3].throttle_reasons = 0x40;
             node(e).gpus[3].temperature_c = 91;
         }},
    {.rule = "clocks",
     .severity = kWarning,
     .kind = "hgx-ib",
     .where = "n3",
     .says = "SM 1000 MHz",
     .damage = [](Evidence& e) { node(e).gpus[3].sm_mhz = 1000; }},
};

}  // namespace

std::vector<BrokenCase> broken_nodes() {
    return kDevices;
}

}  // namespace osora::tests
