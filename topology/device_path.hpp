// The distance between two devices of a machine, in the terms of `nvidia-smi topo -m`. Pure.
#pragma once

#include "topology/machine.hpp"

#include <string>
#include <vector>

namespace osora::topology {

/// From near to far. A switch is one step, whatever its number of ports.
enum class PathKind {
    self,     // X
    nvlink,   // NV#: bonded NVLinks
    xgmi,     // AMD's links between GPUs, in the word of rocm-smi --showtopo
    pix,      // at most one PCIe switch
    pxb,      // several PCIe switches, no host bridge
    phb,      // the same host bridge
    node,     // host bridges of one NUMA node
    sys,      // the link between NUMA nodes
    unknown,  // the machine's source does not say
};

struct DevicePath {
    PathKind kind = PathKind::unknown;
    int nvlinks = 0;
    friend bool operator==(DevicePath const&, DevicePath const&) = default;
};

/// "X", "NV12", "XGMI", "PIX", ..., "?".
[[nodiscard]] std::string path_word(DevicePath path);

/// Between the devices at two PCI addresses, over PCIe only.
[[nodiscard]] DevicePath pci_path(Machine const& machine, std::string const& a,
                                  std::string const& b);
/// The same, but over NVLink where two GPUs have it: directly, or through NVSwitches.
[[nodiscard]] DevicePath device_path(Machine const& machine, std::string const& a,
                                     std::string const& b);

/// PCIe switches above the device at `address`, nearest first, by the address of their upstream
/// port. Root ports of the host do not count.
[[nodiscard]] std::vector<std::string> switches_over(Machine const& machine,
                                                     std::string const& address);

/// A column and row of the matrix: a GPU or a card with a PCI address.
struct MatrixDevice {
    std::string label;  // "GPU0", "mlx5_0", "eth0"
    std::string address;
    int numa = -1;
};
struct PathMatrix {
    std::vector<MatrixDevice> devices;           // GPUs, then RDMA devices, then other cards
    std::vector<std::vector<DevicePath>> paths;  // (row, column)
};
[[nodiscard]] PathMatrix path_matrix(Machine const& machine);

}  // namespace osora::topology
