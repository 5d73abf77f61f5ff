#include "topology/live/node_facts.hpp"

#include "topology/cpu_list.hpp"
#include "topology/live/read_cores.hpp"
#include "topology/sources/read_machine.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace osora::topology {
namespace {

class RealNodeFacts final : public NodeFacts {
public:
    explicit RealNodeFacts(NodeFactsOptions options) : options_(std::move(options)) {}

    Machine read() override {
        Machine machine = read_machine(options_.root);
        if (options_.hwloc && (machine.cores == 0 || machine.numa.empty())) {
            add_cores(machine, read_cores(usable_cpus(0)));
        }
        if (!options_.nvml.empty()) add_nvml_gpus(machine, read_nvml_gpus(options_.nvml));
        return machine;
    }

private:
    NodeFactsOptions options_;
};

}  // namespace

std::unique_ptr<NodeFacts> make_node_facts(NodeFactsOptions options) {
    return std::make_unique<RealNodeFacts>(std::move(options));
}

void add_nvml_gpus(Machine& machine, NvmlGpus const& nvml) {
    if (!nvml.driver.empty()) machine.gpu_driver = nvml.driver;
    for (MachineGpu const& gpu : nvml.gpus) {
        auto at = std::ranges::find(machine.gpus, gpu.address, &MachineGpu::address);
        if (at == machine.gpus.end()) at = machine.gpus.insert(at, MachineGpu{});
        int const numa = at->numa;
        PcieLink const link = at->link;
        *at = gpu;
        at->numa = numa;
        if (gpu.link.current_gt_s == 0 || gpu.link.current_width == 0) at->link = link;
        for (NvlinkPeer const& peer : gpu.nvlinks) machine.nvswitch |= peer.address == "switch";
    }
    std::ranges::sort(machine.gpus, {}, &MachineGpu::address);
}

void add_cores(Machine& machine, std::vector<Core> const& cores) {
    std::set<int> packages;
    std::map<int, std::vector<int>> nodes;
    for (Core const& core : cores) {
        packages.insert(core.package);
        auto& cpus = nodes[core.numa];
        cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
    }
    if (machine.cores == 0) machine.cores = static_cast<int>(cores.size());
    if (machine.sockets == 0) machine.sockets = static_cast<int>(packages.size());
    if (!machine.numa.empty()) return;
    for (auto const& [id, cpus] : nodes) machine.numa.push_back({id, format_cpu_list(cpus), 0});
}

}  // namespace osora::topology
