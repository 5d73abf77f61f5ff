// How two machines that ought to be equal differ, and what that costs; and a fleet sorted into
// groups of equal machines. Pure. What only one side knows is no difference; names, addresses of
// interfaces, GIDs and UUIDs are each machine's own.
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
    std::string effect;  // what it does to a run; "" = nothing that is known
    bool worse = true;   // false: `other` has more than the reference
    friend bool operator==(Difference const&, Difference const&) = default;
};
BOOST_DESCRIBE_STRUCT(Difference, (), (path, reference, other, effect, worse))

/// RDMA devices, cards and bonds; bridges, tunnels and lo are each machine's own business.
[[nodiscard]] bool is_compared(Nic const& nic);

/// Devices are matched by PCI address, then by name (NICs) or order (GPUs): a card that is gone
/// does not make all later ones look changed. Missing devices come first.
[[nodiscard]] std::vector<Difference> diff_machines(Machine const& reference, Machine const& other);

/// Machines without a difference between them.
struct MachineGroup {
    std::vector<std::size_t> members;     // indices, ascending
    std::vector<Difference> differences;  // from the first group's first machine
};

/// The largest group first: it is the reference (of equals the one that comes first). At most 64
/// kinds are told apart; what comes after them is compared with the reference alone.
[[nodiscard]] std::vector<MachineGroup> group_machines(std::vector<Machine> const& machines);

}  // namespace osora::topology
