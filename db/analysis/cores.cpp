#include "db/analysis/cores.hpp"

#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace osora::db::analysis {
namespace {

struct Machine {
    std::string hostname;
    int nodes = 0, cores = 0;
};

std::map<std::string, Machine> machines_of(RunSummary const& run) {
    std::map<std::string, Machine> machines;
    for (auto const& node : run.nodes) {
        auto& machine = machines[node.boot_id.empty() ? node.hostname : node.boot_id];
        machine.hostname = node.hostname;
        machine.nodes += 1;
        machine.cores = std::max(machine.cores, node.cores);
    }
    return machines;
}

}  // namespace

CoreUse core_use(RunSummary const& run) {
    CoreUse use;
    auto const machines = machines_of(run);
    if (machines.empty() || run.run.nodes == 0) return use;
    bool const on_gpu = !run.device.empty() && !run.device.starts_with("cpu");
    int const threads = on_gpu ? 0 : std::max(1, run.plan ? run.plan->chosen.threads_per_rank : 1);
    bool const has_loader = run.plan && run.run.job != "exec";  // not known of a user program
    int const loaders = has_loader ? run.plan->chosen.num_workers : 0;
    int const ranks_per_node = run.run.ranks / run.run.nodes;
    double worst = 0;
    use.known = true;
    for (auto const& [id, machine] : machines) {
        if (machine.cores == 0) {
            use.known = false;
            continue;
        }
        int const ranks = machine.nodes * ranks_per_node;
        double const load = static_cast<double>(ranks * (threads + loaders)) / machine.cores;
        use.shared = use.shared || (load > 1 && ranks > 1);
        if (load <= worst) continue;
        worst = load;
        std::string each = on_gpu ? "" : counted(threads, "thread");
        if (loaders > 0) {
            each = each.empty() ? counted(loaders, "loader")
                                : fmt::format("({} + {})", each, counted(loaders, "loader"));
        }
        use.text = fmt::format("{} x {} on {} of {}", counted(ranks, "rank"), each,
                               counted(machine.cores, "core"), machine.hostname);
    }
    return use;
}

}  // namespace osora::db::analysis
