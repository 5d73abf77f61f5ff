// The differences between two machines that should be equal, and their effect; and a fleet grouped
// into equal machines. Pure. What only one side knows is not a difference; names, addresses of
// interfaces, GIDs and UUIDs differ between all machines.
#pragma once

#include "topology/machine.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::topology {

struct Difference {
    std::string path;  // "nic.mlx5_3.link.current_gt_s", "gpu.2.numa", "cores"
    std::string reference,
        other;           // with unit: "32 GT/s", "x16", "400 Gbit/s"; "missing": no device
    std::string effect;  // the effect on a run; "" = none known
    bool worse = true;   // false: `other` has more than the reference
    friend bool operator==(Difference const&, Difference const&) = default;
};
BOOST_DESCRIBE_STRUCT(Difference, (), (path, reference, other, effect, worse))

/// RDMA devices, cards and bonds; bridges, tunnels and lo are not compared.
[[nodiscard]] bool is_compared(Nic const& nic);

/// Devices are matched by PCI address, then by name (NICs) or order (GPUs): a missing card does not
/// make all later ones look changed. Missing devices come first.
[[nodiscard]] std::vector<Difference> diff_machines(Machine const& reference, Machine const& other);

/// Machines without differences.
struct MachineGroup {
    std::vector<std::size_t> members;     // indices, ascending
    std::vector<Difference> differences;  // from the first group's first machine
};

/// The largest group first: it is the reference (of equal groups, the first). At most 64 kinds are
/// distinguished; later machines are compared only with the reference.
[[nodiscard]] std::vector<MachineGroup> group_machines(std::vector<Machine> const& machines);

}  // namespace osora::topology
