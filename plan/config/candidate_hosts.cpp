#include "plan/config/candidate_hosts.hpp"

#include "base/host_list.hpp"
#include "plan/config/ssh_hosts.hpp"

#include <algorithm>

namespace osora::plan {

std::vector<std::string> candidate_hosts(RunConfig const& config, Environment const& environment) {
    std::vector<std::string> hosts;
    if (config.resources.backend == "slurm") {
        auto const list = variable_or(environment, "SLURM_JOB_NODELIST",
                                      variable_or(environment, "SLURM_NODELIST", ""));
        auto names = expand_host_list(list);
        if (names.has_value()) hosts = std::move(*names);
    } else if (config.resources.backend == "ssh") {
        for (auto const& each : parse_host_list(config.ssh.hosts).hosts) {
            hosts.push_back(each.host);
        }
    }
    std::erase_if(hosts, [&](std::string const& host) {
        return std::ranges::count(config.faults.exclude_nodes, host) > 0;
    });
    auto const most =
        static_cast<std::size_t>(config.resources.nodes) + std::size_t(config.resources.spares);
    if (hosts.size() > most) hosts.resize(most);
    return hosts;
}

}  // namespace osora::plan
