#include "plan/config/candidate_hosts.hpp"

#include "base/host_list.hpp"
#include "base/host_name.hpp"
#include "plan/config/ssh_hosts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
        return names_host(config.faults.exclude_nodes, host);
    });
    auto const most =
        static_cast<std::size_t>(config.resources.nodes) + std::size_t(config.resources.spares);
    if (hosts.size() > most) hosts.resize(most);
    return hosts;
}

std::string use_bad_hosts_last(RunConfig& config, std::vector<std::string> const& bad) {
    if (config.resources.backend != "ssh" || bad.empty()) return "";
    auto const parsed = parse_host_list(config.ssh.hosts);
    if (!parsed.problems.empty()) return "";
    std::vector<std::string> good_entries, bad_entries, moved;
    bool order_changes = false;
    for (auto const& host : parsed.hosts) {
        bool const is_bad = names_host(bad, host.host);
        order_changes = order_changes || (!is_bad && !bad_entries.empty());
        std::string const& entry = config.ssh.hosts[static_cast<std::size_t>(host.line) - 1];
        (is_bad ? bad_entries : good_entries).push_back(entry);
        if (is_bad) moved.push_back(host.host);
    }
    if (!order_changes) return "";
    good_entries.insert(good_entries.end(), bad_entries.begin(), bad_entries.end());
    config.ssh.hosts = std::move(good_entries);
    return fmt::format("ssh.hosts: {} failed runs lately (see osora nodes) and {} used last",
                       fmt::join(moved, ", "), moved.size() == 1 ? "is" : "are");
}

}  // namespace osora::plan
