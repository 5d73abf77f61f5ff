// Private to the reader of sysfs trees: small files, links that may have become folders, and the
// parts of a machine. Nothing here fails; what cannot be read is "", 0 or empty.
#pragma once

#include "topology/machine.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology::sysfs {

namespace fs = std::filesystem;

/// The first 64 KiB without white space at its ends.
[[nodiscard]] std::string text_in(fs::path const& file);
/// A whole decimal or 0x number in it.
[[nodiscard]] std::optional<long long> number_in(fs::path const& file);
/// Names in a folder, "mlx5_2" before "mlx5_10"; at most 4,096.
[[nodiscard]] std::vector<std::string> names_in(fs::path const& folder);
/// The text after `key` in the line that starts with it, trimmed: for uevent ("DRIVER="), meminfo.
[[nodiscard]] std::string_view line_value(std::string_view text, std::string_view key);
/// "mlx5_2" < "mlx5_10".
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// "16.0 GT/s PCIe", "16 GT/s"; 0 = "Unknown" and everything else.
[[nodiscard]] double speed_gt_s(std::string_view text);
[[nodiscard]] PcieLink link_in(fs::path const& device);
/// The PCI address of the device in folder `device`: by its link, or its uevent file.
[[nodiscard]] std::string address_of(fs::path const& device);
[[nodiscard]] std::string driver_of(fs::path const& device);
/// numa_node; -1 = not known.
[[nodiscard]] int numa_in(fs::path const& device);

/// All devices of sys/bus/pci/devices, by address, each with parent and host if known.
/// fill_pci_device() reads links, speeds and ACS of those that matter.
[[nodiscard]] std::map<std::string, PciDevice> read_pci(fs::path const& root);
void fill_pci_device(fs::path const& root, PciDevice& device);

/// RDMA devices, then the interfaces that belong to none. Cards whose folder is a link to a device
/// of `pci` have no link and NUMA node: these are the device's.
[[nodiscard]] std::vector<Nic> read_nics(fs::path const& root,
                                         std::map<std::string, PciDevice> const& pci);
/// By interface: "10.0.0.4/24", "fe80::1/64". proc/net/{route,fib_trie,if_inet6}.
[[nodiscard]] std::map<std::string, std::vector<std::string>> read_addresses(fs::path const& root);

[[nodiscard]] std::vector<MachineGpu> read_gpus(fs::path const& root,
                                                std::map<std::string, PciDevice> const& pci);
/// CPUs, NUMA nodes and memory.
void read_cpus(fs::path const& root, Machine& machine);

}  // namespace osora::topology::sysfs
