// PCI addresses: "0000:1b:00.0", lower case, as sysfs writes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace osora::topology {

/// From "0000:1B:00.0", "1b:00.0" (domain 0) or NVML's "00000000:1B:00.0"; nullopt: none of these.
[[nodiscard]] std::optional<std::string> pci_address(std::string_view text);

/// Bus number of an address that pci_address() gave: 0x1b.
[[nodiscard]] int pci_bus(std::string_view address);

}  // namespace osora::topology
