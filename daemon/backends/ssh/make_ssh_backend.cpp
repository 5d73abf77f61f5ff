// Hosts were checked at submit, but a submission that another program made may still be wrong.
#include "daemon/backends/ssh/make_ssh_backend.hpp"

#include "daemon/backends/ssh/earlier_hosts.hpp"
#include "daemon/backends/ssh/environment_to_send.hpp"
#include "daemon/backends/ssh/ssh_backend.hpp"
#include "daemon/journal/journaled_status.hpp"

#include <fmt/format.h>

namespace osora::daemon {

Result<std::unique_ptr<Backend>> make_ssh_backend(BackendSetup setup, TaskGroup& tasks, Logger& log,
                                                  Backend::OnExited on_exited) {
    auto found = plan::parse_host_list(setup.config.ssh.hosts);
    if (!found.problems.empty()) {
        auto const& problem = found.problems.front();
        return Error{Errc::invalid_input,
                     fmt::format("ssh.hosts, entry {}: {}", problem.line, problem.message)};
    }
    auto const nodes = static_cast<std::size_t>(setup.config.resources.nodes);
    auto usable = plan::usable_hosts(std::move(found.hosts), setup.config.faults.exclude_nodes);
    if (usable.size() < nodes) {
        return Error{Errc::invalid_input,
                     fmt::format("ssh.hosts: {} for {} nodes", usable.size(), nodes)};
    }
    SshOptions options;
    options.hosts = std::move(usable);
    options.nodes = setup.config.resources.nodes;
    auto const spares = static_cast<std::size_t>(setup.config.resources.spares);
    if (options.hosts.size() > nodes + spares) options.hosts.resize(nodes + spares);
    OSORA_TRY(auto const status, read_run_status(setup.start.run_dir));
    std::vector<std::string> last;
    for (auto const& node : status.nodes) last.push_back(node.host);
    options.hosts = hosts_as_before(std::move(options.hosts), last);
    options.login.home = variable_or(setup.environment, "HOME", "");
    options.login.identity = setup.config.ssh.identity;
    options.login.known_hosts = setup.config.ssh.known_hosts;
    options.osorad = std::move(setup.osorad);
    options.on_fault = fault_recorder(setup.start.run_dir, log);
    options.start = std::move(setup.start);
    options.start.environment = environment_to_send(setup.environment);
    return std::make_unique<SshBackend>(std::move(options), tasks, log, std::move(on_exited));
}

}  // namespace osora::daemon
