// One node in detail: sockets, NUMA nodes, PCIe tree, GPUs, NICs and the distances between them.
// Value types, no I/O; sources fill what they know. 0, "" and -1 mean unknown.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::topology {

/// A PCIe link: current state and maximum. Speeds in GT/s per lane: 2.5 5 8 16 32 64 = gen 1..6.
struct PcieLink {
    double current_gt_s = 0, max_gt_s = 0;
    int current_width = 0, max_width = 0;  // lanes
    friend bool operator==(PcieLink const&, PcieLink const&) = default;
};

/// A bridge, switch port or device of the PCIe tree.
struct PciDevice {
    std::string address;         // "0000:1b:00.0", lower case
    std::string parent;          // address of the bridge above; "" = directly below its host bridge
    std::string host;            // its host bridge: "pci0000:16"
    std::string pci_class;       // "0x060400"
    std::string vendor, device;  // "0x10de", "0x2330"
    int numa = -1;
    PcieLink link;         // towards its parent
    std::string acs = {};  // ACS control of a bridge: "on", "off"; "" = not known
    friend bool operator==(PciDevice const&, PciDevice const&) = default;
};

struct NvlinkPeer {
    std::string address;  // PCI address of the GPU at the other end; "switch" = an NVSwitch
    int links = 0;        // that are up
    friend bool operator==(NvlinkPeer const&, NvlinkPeer const&) = default;
};

struct MachineGpu {
    std::string address;  // PCI; also the order of the list
    std::string name;     // "NVIDIA H100 80GB HBM3"
    std::string uuid;
    std::int64_t memory_bytes = 0;
    int compute_capability = 0;  // 80, 90, 100
    int numa = -1;
    PcieLink link;
    std::vector<NvlinkPeer> nvlinks;
    std::string nvl_domain;  // cluster UUID and clique, of multi-node NVLink
    friend bool operator==(MachineGpu const&, MachineGpu const&) = default;
};

enum class NicKind { ethernet, roce, infiniband, efa, other };
BOOST_DESCRIBE_ENUM(NicKind, ethernet, roce, infiniband, efa, other)

/// An entry of an RDMA device's GID table.
struct Gid {
    int index = 0;
    std::string type;   // "IB/RoCE v1", "RoCE v2"
    std::string value;  // "fe80:0000:..."
    friend bool operator==(Gid const&, Gid const&) = default;
};

/// A port of a network card: an RDMA device with its network interface, or only one of them.
struct Nic {
    std::string device;     // RDMA device: "mlx5_3"; "" = none
    std::string interface;  // network interface: "eth0"; "" = none
    int port = 1;
    NicKind kind = NicKind::ethernet;
    std::string address;  // PCI; "" = virtual (bond, bridge, veth, lo)
    std::string driver;   // "mlx5_core", "ena", "veth", "bonding", "bridge"
    int numa = -1;
    PcieLink link;
    double rate_gbit = 0;
    bool up = false;
    int mtu = 0;  // bytes, of the interface
    std::string firmware;
    std::vector<std::string> addresses;  // "10.0.0.4/24", "fe80::1/64"
    std::vector<Gid> gids;
    std::string master = {};  // bond or bridge that the interface is a part of
    friend bool operator==(Nic const&, Nic const&) = default;
};

struct NumaNode {
    int id = 0;
    std::string cpus;  // "0-31,64-95"
    std::int64_t memory_bytes = 0;
    friend bool operator==(NumaNode const&, NumaNode const&) = default;
};

struct Machine {
    std::string name;                 // host
    std::string source;               // "sysfs:/", "nccl-xml:node3.xml", "synthetic"
    std::string cpu_vendor;           // "GenuineIntel", "AuthenticAMD", "ARM"
    std::string cpu_model, cpu_arch;  // arch: "x86_64", "arm64", "ppc64"
    int sockets = 0, cores = 0;
    std::int64_t memory_bytes = 0;
    std::vector<NumaNode> numa;
    std::vector<PciDevice> pci;
    std::vector<MachineGpu> gpus;  // by PCI address
    std::vector<Nic> nics;         // RDMA devices first, then interfaces, by name
    bool nvswitch = false;
    std::string kernel = {};      // "5.15.0-1042-nvidia"
    std::string gpu_driver = {};  // NVIDIA's: "550.54.15"
    friend bool operator==(Machine const&, Machine const&) = default;
};

BOOST_DESCRIBE_STRUCT(PcieLink, (), (current_gt_s, max_gt_s, current_width, max_width))
BOOST_DESCRIBE_STRUCT(PciDevice, (),
                      (address, parent, host, pci_class, vendor, device, numa, link, acs))
BOOST_DESCRIBE_STRUCT(NvlinkPeer, (), (address, links))
BOOST_DESCRIBE_STRUCT(MachineGpu, (),
                      (address, name, uuid, memory_bytes, compute_capability, numa, link, nvlinks,
                       nvl_domain))
BOOST_DESCRIBE_STRUCT(Gid, (), (index, type, value))
BOOST_DESCRIBE_STRUCT(Nic, (),
                      (device, interface, port, kind, address, driver, numa, link, rate_gbit, up,
                       mtu, firmware, addresses, gids, master))
BOOST_DESCRIBE_STRUCT(NumaNode, (), (id, cpus, memory_bytes))
BOOST_DESCRIBE_STRUCT(Machine, (),
                      (name, source, cpu_vendor, cpu_model, cpu_arch, sockets, cores, memory_bytes,
                       numa, pci, gpus, nics, nvswitch, kernel, gpu_driver))

}  // namespace osora::topology
