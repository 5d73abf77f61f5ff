// sched_getaffinity, with a mask that grows until it is large enough.
#include "topology/live/read_cores.hpp"

#include <sched.h>

#include <cerrno>

namespace osora::topology {

std::vector<int> usable_cpus(int pid) {
    constexpr std::size_t kMostSets = 64;  // of 1024 CPUs each
    for (std::size_t sets = 1; sets <= kMostSets; sets *= 2) {
        std::vector<cpu_set_t> mask(sets);
        std::size_t const bytes = sets * sizeof(cpu_set_t);
        if (::sched_getaffinity(pid, bytes, mask.data()) != 0) {
            if (errno == EINVAL) continue;
            return {};
        }
        std::vector<int> cpus;
        for (std::size_t cpu = 0; cpu < bytes * 8; ++cpu) {
            if (CPU_ISSET_S(cpu, bytes, mask.data())) cpus.push_back(static_cast<int>(cpu));
        }
        return cpus;
    }
    return {};
}

}  // namespace osora::topology
