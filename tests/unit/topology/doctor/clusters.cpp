#include "tests/unit/topology/doctor/clusters.hpp"

#include <fmt/format.h>

namespace osora::tests {
namespace {

using namespace topology;
using namespace topology::doctor;

constexpr PcieLink kGen5{32, 32, 16, 16};
constexpr PcieLink kGen4{16, 16, 16, 16};

PciDevice bridge(std::string address, std::string parent, std::string host, int numa) {
    PciDevice device;
    device.address = std::move(address);
    device.parent = std::move(parent);
    device.host = std::move(host);
    device.pci_class = "0x060400";
    device.numa = numa;
    device.link = kGen5;
    device.acs = "off";
    return device;
}

PciDevice leaf(std::string address, std::string parent, std::string host, int numa) {
    auto device = bridge(std::move(address), std::move(parent), std::move(host), numa);
    device.pci_class = "0x030200";
    device.acs = "";
    return device;
}

Nic rdma_nic(int index, std::string address, NicKind kind, double rate_gbit) {
    Nic nic;
    nic.device = fmt::format("mlx5_{}", index);
    nic.kind = kind;
    nic.address = std::move(address);
    nic.driver = "mlx5_core";
    nic.numa = index / 4;
    nic.link = kGen5;
    nic.rate_gbit = rate_gbit;
    nic.up = true;
    if (kind == NicKind::roce) {
        nic.interface = fmt::format("eth{}", index + 1);
        nic.mtu = 9000;
        nic.addresses = {fmt::format("10.1.{}.4/24", index)};
        nic.gids = {{0, "IB/RoCE v1", "fe80:0000:0000:0000:0e42:a1ff:fe00:0001"},
                    {1, "RoCE v2", "fe80:0000:0000:0000:0e42:a1ff:fe00:0001"},
                    {2, "IB/RoCE v1", "0000:0000:0000:0000:0000:ffff:0a01:0004"},
                    {3, "RoCE v2", "0000:0000:0000:0000:0000:ffff:0a01:0004"}};
    }
    return nic;
}

Nic ethernet(std::string interface, double rate_gbit, std::string address) {
    Nic nic;
    nic.interface = std::move(interface);
    nic.rate_gbit = rate_gbit;
    nic.up = true;
    nic.mtu = 1500;
    nic.driver = "ixgbe";
    nic.addresses = {std::move(address)};
    return nic;
}

/// 8 GPUs, each with a NIC below the same PCIe switch.
Machine hgx(NicKind kind) {
    Machine machine;
    machine.cpu_arch = "x86_64";
    machine.cores = 112;
    machine.sockets = 2;
    machine.memory_bytes = std::int64_t{2} << 40;
    machine.numa = {{0, "0-55", 0}, {1, "56-111", 0}};
    machine.nvswitch = true;
    for (int i = 0; i < 8; ++i) {
        std::string const host = fmt::format("pci0000:{:x}0", i + 1);
        int const numa = i / 4;
        auto const at = [&](int bus) { return fmt::format("0000:{:x}{}:00.0", i + 1, bus); };
        machine.pci.push_back(bridge(at(0), "", host, numa));
        machine.pci.push_back(bridge(at(1), at(0), host, numa));
        machine.pci.push_back(bridge(at(2), at(1), host, numa));
        machine.pci.push_back(bridge(at(3), at(1), host, numa));
        machine.pci.push_back(leaf(at(4), at(2), host, numa));
        machine.pci.push_back(leaf(at(5), at(3), host, numa));
        MachineGpu gpu;
        gpu.address = at(4);
        gpu.name = "NVIDIA H100 80GB HBM3";
        gpu.compute_capability = 90;
        gpu.numa = numa;
        gpu.link = kGen5;
        gpu.nvlinks = {{"switch", 18}};
        machine.gpus.push_back(gpu);
        machine.nics.push_back(rdma_nic(i, at(5), kind, 400));
    }
    machine.nics.push_back(ethernet("eth0", 25, "10.0.0.4/24"));
    return machine;
}

Machine plain(int gpus, std::string const& gpu_name, double rate_gbit) {
    Machine machine;
    machine.cpu_arch = "x86_64";
    machine.cores = 64;
    machine.sockets = 2;
    machine.memory_bytes = std::int64_t{512} << 30;
    machine.numa = {{0, "0-31", 0}, {1, "32-63", 0}};
    for (int i = 0; i < gpus; ++i) {
        std::string const host = fmt::format("pci0000:{:x}0", i + 1);
        std::string const port = fmt::format("0000:{:x}0:01.0", i + 1);
        machine.pci.push_back(bridge(port, "", host, i / 4));
        machine.pci.push_back(leaf(fmt::format("0000:{:x}1:00.0", i + 1), port, host, i / 4));
        MachineGpu gpu;
        gpu.address = machine.pci.back().address;
        gpu.name = gpu_name;
        gpu.compute_capability = 86;
        gpu.numa = i / 4;
        gpu.link = kGen4;
        machine.gpus.push_back(gpu);
    }
    machine.nics.push_back(ethernet("eth0", rate_gbit, "10.0.0.4/24"));
    return machine;
}

Machine machine_of(std::string const& kind) {
    if (kind == "hgx-ib") return hgx(NicKind::infiniband);
    if (kind == "roce") return hgx(NicKind::roce);
    if (kind == "geforce") return plain(8, "NVIDIA GeForce RTX 3090", 10);
    if (kind == "cpu") return plain(0, "", 25);
    if (kind == "efa") {
        Machine machine = plain(8, "NVIDIA A100-SXM4-40GB", 100);
        machine.nvswitch = true;
        for (auto& gpu : machine.gpus) gpu.compute_capability = 80;
        for (int i = 0; i < 4; ++i) {
            Nic nic = rdma_nic(i, fmt::format("0000:{:x}b:00.0", i + 1), NicKind::efa, 100);
            nic.device = fmt::format("rdmap{}s0", i);
            machine.nics.push_back(nic);
        }
        return machine;
    }
    Machine machine = plain(4, "NVIDIA GB200", 25);
    machine.cpu_arch = "arm64";
    for (auto& gpu : machine.gpus) {
        gpu.compute_capability = 100;
        gpu.nvl_domain = "7d1c.0";
    }
    for (int i = 0; i < 4; ++i) {
        machine.nics.push_back(
            rdma_nic(i, fmt::format("0000:{:x}b:00.0", i + 1), NicKind::infiniband, 400));
    }
    return machine;
}

std::string healthy_log(std::string const& host, int nics) {
    std::string const head = host + ":4711:4720 [0] NCCL INFO ";
    std::string text = head + "Bootstrap : Using eth0:10.0.0.4<0>\n" + head +
                       "NET/Plugin : Could not find: libnccl-net.so. Using internal network\n" +
                       head + "NCCL version 2.21.5+cuda12.4\n" + head + "NET/IB : Using";
    for (int i = 0; i < nics; ++i) text += fmt::format(" [{0}]mlx5_{0}:1/IB", i);
    text += " [RO]; OOB eth0:10.0.0.4<0>\n" + head + "Using network IB\n" + head +
            "NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)\n" + head +
            "MNNVL busId 0x1b000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0\n" + head +
            "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n";
    for (int i = 0; i < 2 * nics; ++i) {
        text += head + fmt::format("Channel {:02}/0 : 0[0] -> 8[0] [send] via NET/IB/{}/GDRDMA\n",
                                   i, i % nics);
    }
    return text;
}

}  // namespace

std::vector<std::string> const& cluster_kinds() {
    static std::vector<std::string> const kKinds{"hgx-ib", "roce",    "efa",
                                                 "gb200",  "geforce", "cpu"};
    return kKinds;
}

Evidence cluster(std::string const& kind, int nodes) {
    Evidence evidence;
    Machine const machine = machine_of(kind);
    for (int i = 1; i <= nodes; ++i) {
        NodeEvidence node;
        node.name = fmt::format("n{}", i);
        node.machine = machine;
        node.machine->name = node.name;
        node.is_virtual = kind == "efa";
        node.has_uverbs = !machine.nics.empty();
        node.has_imex_channels = kind == "gb200";
        node.iommu = Iommu::passthrough;
        node.memlock_bytes = kUnlimited;
        node.open_files = 1 << 20;
        node.shm_bytes = machine.memory_bytes / 2;
        node.cpus_allowed = machine.cores == 112 ? "0-111" : "0-63";
        node.versions["kernel"] = "5.15.0";
        if (!machine.gpus.empty()) {
            node.modules = {"nvidia", "nvidia_peermem", "mlx5_ib", "efa"};
            node.versions["driver"] = "550.54.15";
            node.fabric_state = machine.nvswitch ? "Completed" : "N/A";
            for (int gpu = 0; gpu < static_cast<int>(machine.gpus.size()); ++gpu) {
                node.gpus.push_back(
                    {.gpu = gpu, .temperature_c = 60, .sm_mhz = 1755.0 + gpu, .utilisation = 0.98});
            }
        }
        if (kind == "hgx-ib") {
            add_nccl_log(node.log, healthy_log(node.name, 8));
            node.versions["libtorch"] = "2.5.1";
        }
        if (kind == "hgx-ib" || kind == "roce") {
            for (auto const& nic : machine.nics) {
                if (nic.device.empty()) continue;
                for (char const* name : {"link_downed", "symbol_error", "out_of_sequence"}) {
                    node.counters.push_back({nic.device, name, 0, 0});
                }
            }
        }
        evidence.nodes.push_back(std::move(node));
    }
    return evidence;
}

ProbeResult quiet_probe(Evidence const& evidence) {
    ProbeResult probe;
    auto const nodes = static_cast<int>(evidence.nodes.size());
    constexpr std::int64_t kSize = 1 << 30;
    constexpr double kSeconds = 0.1;  // 86 Gbit/s
    for (auto const& node : evidence.nodes) probe.nodes.push_back(node.name);
    probe.median_gbit_s = kSize * 8e-9 / kSeconds;
    for (int i = 0; i < nodes; ++i) {
        probe.scores.push_back({probe.median_gbit_s, 1, 5, false, "eth0"});
        probe.storage.push_back({i, "/data", true, 2e9, 300, 100});
        probe.storage.push_back({i, "/data", false, 1.6e9, 400, 100});
        for (int round = 0; round < 5; ++round) {
            double const noise = 1 + 0.01 * ((i * 7 + round * 3) % 5 - 2);
            probe.pairs.push_back({ProbeStage::matching, round, i, (i + round + 1) % nodes, "tcp",
                                   "eth0", kSize, kSeconds * noise});
        }
        for (auto const stage : {ProbeStage::leaf_one, ProbeStage::leaf_all}) {
            probe.pairs.push_back({stage, 0, i, (i + 1) % nodes, "tcp", "eth0", kSize, kSeconds});
        }
    }
    for (std::int64_t const size : {1 << 20, 1 << 25, 1 << 30}) {
        probe.collectives.push_back(
            {"gloo", "all_reduce", nodes, nodes, size, 200 + static_cast<double>(size) * 3e-3});
    }
    return probe;
}

}  // namespace osora::tests
