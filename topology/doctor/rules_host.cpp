// Rules about the resources of a process on its node: rows 16 and 17.
#include "topology/cpu_list.hpp"
#include "topology/doctor/rules_internal.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace osora::topology::doctor {
namespace {

/// NUMA nodes whose GPUs have none of `cpus`.
std::vector<int> numa_without(Machine const& machine, std::vector<int> const& cpus) {
    std::set<int> with_gpu;
    for (auto const& gpu : machine.gpus) {
        if (gpu.numa >= 0) with_gpu.insert(gpu.numa);
    }
    std::vector<int> without;
    for (auto const& numa : machine.numa) {
        auto const own = parse_cpu_list(numa.cpus);
        if (!with_gpu.contains(numa.id) || !own || own->empty()) continue;
        bool const some = std::ranges::any_of(
            cpus, [&](int cpu) { return std::ranges::binary_search(*own, cpu); });
        if (!some) without.push_back(numa.id);
    }
    return without;
}

void check_few(NodeEvidence const& node, double cpus, Outcome& outcome) {
    auto const gpus = static_cast<double>(node.machine->gpus.size());
    double const all = node.machine->cores;
    if (gpus == 0 || cpus >= 4 * gpus || (all > 0 && cpus >= all)) return;
    bool const fault = cpus < 2 * gpus;
    outcome.findings.push_back(
        {.severity = fault ? Severity::fault : Severity::warning,
         .nodes = {node.name},
         .title = fmt::format("{:.4g} CPUs for {:.0f} GPUs", cpus, gpus),
         .seen = node.cpu_quota_cores > 0 && node.cpu_quota_cores <= cpus
                     ? fmt::format("quota of its cgroup; the machine has {}", node.machine->cores)
                     : fmt::format("allowed {}; the machine has {}", node.cpus_allowed,
                                   node.machine->cores),
         .effect = "NCCL's threads and the loaders wait for a core: half the speed and less",
         .fix =
             "ask Slurm for more (--cpus-per-gpu=8, --exclusive), or widen the container's cpuset",
         .impact = fault ? 0.6 : 0.3});
}

}  // namespace

Outcome check_cpus(Evidence const& evidence) {
    Outcome outcome;
    bool any = false;
    for (auto const& node : evidence.nodes) {
        if (!has_gpus(node)) continue;
        auto const cpus = parse_cpu_list(node.cpus_allowed);
        if (!cpus || cpus->empty()) continue;
        any = true;
        double count = static_cast<double>(cpus->size());
        if (node.cpu_quota_cores > 0) count = std::min(count, node.cpu_quota_cores);
        check_few(node, count, outcome);
        auto const without = numa_without(*node.machine, *cpus);
        if (without.empty()) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {node.name},
             .title =
                 fmt::format("No CPU beside the GPUs of NUMA node {}", fmt::join(without, ", ")),
             .seen = "allowed " + node.cpus_allowed,
             .effect = "their proxy threads run on the other socket; half the bandwidth was seen",
             .fix = "widen the cpuset or Slurm's mask (--exclusive, --cpu-bind=none); where it is "
                    "wrong, NCCL_IGNORE_CPU_AFFINITY=1",
             .impact = 0.4});
    }
    if (!any) return skip("no GPU, or CPUs not known");
    return outcome;
}

Outcome check_rank_cpus(Evidence const& evidence) {
    Outcome outcome;
    bool any = false;
    for (auto const& node : evidence.nodes) {
        std::map<int, int> ranks_on;  // by CPU
        int bound = 0;
        std::set<std::string> lists;
        for (auto const& [rank, list] : node.rank_cpus) {
            auto const cpus = parse_cpu_list(list);
            if (!cpus || cpus->empty()) continue;
            ++bound;
            lists.insert(list);
            for (int const cpu : *cpus) ++ranks_on[cpu];
        }
        if (bound < 2) continue;
        any = true;
        // As many CPUs as ranks is enough, even if all ranks may use all.
        if (ranks_on.size() >= static_cast<std::size_t>(bound)) continue;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("{} ranks share {} CPU{}", bound, ranks_on.size(),
                                  ranks_on.size() == 1 ? "" : "s"),
             .seen = fmt::format("bound to {}", fmt::join(lists, " and ")),
             .effect = "ranks and NCCL's threads take turns: 50 times slower was seen",
             .fix = "srun --cpu-bind=none, or more --cpus-per-task",
             .impact = 0.9});
    }
    if (!any) return skip("no rank that is bound");
    return outcome;
}

Outcome check_shm(Evidence const& evidence) {
    bool any = false;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (node.shm_bytes <= 0 || !has_gpus(node) || node.machine->gpus.size() < 2) continue;
        any = true;
        if (node.shm_bytes >= kGiB) continue;
        bool const fault = node.shm_bytes <= 64 * kMiB;
        outcome.findings.push_back(
            {.severity = fault ? Severity::fault : Severity::warning,
             .nodes = {node.name},
             .title = fmt::format("/dev/shm has {}", format_bytes(node.shm_bytes)),
             .seen = fault ? "docker's default" : "proc/mounts",
             .effect = "NCCL cannot make its segments: the run fails at the start, or a bus error",
             .fix = "docker run --shm-size=16g (or --ipc=host); Kubernetes: an emptyDir of medium "
                    "Memory at /dev/shm",
             .impact = fault ? 1 : 0.5});
    }
    find_trouble(outcome, evidence, LogTrouble::shm,
                 {.severity = Severity::fault,
                  .title = "NCCL could not make a segment in /dev/shm",
                  .effect = "the run fails at the start",
                  .fix = "make /dev/shm larger; RemoveIPC=no in /etc/systemd/logind.conf where "
                         "segments vanish",
                  .impact = 1});
    if (!any && outcome.findings.empty()) return skip("no node with several GPUs");
    return outcome;
}

Outcome check_memlock(Evidence const& evidence) {
    bool any = false;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (node.memlock_bytes == kNotKnown || rdma_up(node).empty()) continue;
        any = true;
        if (node.memlock_bytes == kUnlimited || node.memlock_bytes >= 16 * kGiB) continue;
        bool const fault = node.memlock_bytes < 64 * kMiB;
        outcome.findings.push_back(
            {.severity = fault ? Severity::fault : Severity::warning,
             .nodes = {node.name},
             .title =
                 fmt::format("Only {} of memory may be locked", format_bytes(node.memlock_bytes)),
             .seen = "limit of locked memory (ulimit -l)",
             .effect = "RDMA buffers cannot be registered: the run fails (ibv_reg_mr)",
             .fix =
                 "memlock unlimited in /etc/security/limits.d, LimitMEMLOCK=infinity for slurmd, "
                 "--ulimit memlock=-1 for containers",
             .impact = fault ? 1 : 0.3});
    }
    find_trouble(outcome, evidence, LogTrouble::memory_register,
                 {.severity = Severity::fault,
                  .title = "Memory could not be registered for RDMA",
                  .effect = "the run fails",
                  .fix = "raise the limit of locked memory (ulimit -l unlimited)",
                  .impact = 1});
    if (!any && outcome.findings.empty()) return skip("no RDMA NIC, or limits not known");
    return outcome;
}

Outcome check_open_files(Evidence const& evidence) {
    bool any = false;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (node.open_files == kNotKnown) continue;
        any = true;
        // NCCL raises the soft limit to the hard one, so only the hard one counts.
        if (node.open_files == kUnlimited || node.open_files >= 4096) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {node.name},
             .title = fmt::format("At most {} open files", node.open_files),
             .seen = "hard limit (ulimit -Hn)",
             .effect = "runs of some hundred ranks fail when they connect",
             .fix = "nofile 1048576 in /etc/security/limits.d, LimitNOFILE for slurmd",
             .impact = 0.3});
    }
    find_trouble(outcome, evidence, LogTrouble::open_files,
                 {.severity = Severity::fault,
                  .title = "Too many open files",
                  .effect = "the run fails when it connects",
                  .fix = "nofile 1048576 in /etc/security/limits.d, LimitNOFILE for slurmd",
                  .impact = 1});
    if (!any && outcome.findings.empty()) return skip("limits not known");
    return outcome;
}

}  // namespace osora::topology::doctor
