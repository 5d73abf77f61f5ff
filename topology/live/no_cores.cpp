// Without hwloc the cores are unknown.
#include "topology/live/read_cores.hpp"

namespace osora::topology {

std::vector<Core> read_cores(std::vector<int> const&) {
    return {};
}

}  // namespace osora::topology
