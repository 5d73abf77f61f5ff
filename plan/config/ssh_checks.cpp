// Problems of a host file name its lines; the rest are located at the key to change.
#include "plan/config/ssh_checks.hpp"

#include "base/files/files.hpp"
#include "base/host_name.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace osora::plan {
namespace {

bool unread(ResolvedConfig const& resolved, char const* key) {
    return resolved.unread.contains(key);
}

void complain_of_entry(ResolvedConfig& resolved, std::string const& file,
                       SshHostProblem const& problem) {
    if (file.empty()) {
        ConfigProblem placed = problem_of(resolved, "ssh.hosts", "");
        placed.message = fmt::format("ssh.hosts, entry {}: {}", problem.line, problem.message);
        resolved.problems.push_back(std::move(placed));
        return;
    }
    ConfigProblem placed;
    placed.where = {Layer::run, file, problem.line};
    placed.message = problem.message;
    resolved.problems.push_back(std::move(placed));
}

std::string left_of(std::vector<SshHost> const& usable) {
    std::vector<std::string_view> names;
    for (SshHost const& each : usable) names.push_back(each.host);
    if (names.empty()) return "leaves no host";
    return fmt::format("leaves {} {}: {}", names.size(), names.size() == 1 ? "host" : "hosts",
                       fmt::join(names, ", "));
}

/// "n1 fits n1.a and n1.b": a name without its domain that two of the hosts have; "": none.
std::string ambiguous_name(std::vector<std::string> const& names,
                           std::vector<SshHost> const& hosts) {
    for (std::string const& name : names) {
        std::string const plain = lower(name);
        std::vector<std::string> found;
        for (SshHost const& each : hosts) {
            std::string host = lower(each.host);
            bool const is_new = std::ranges::find(found, host) == found.end();
            if (is_new && is_same_host(plain, host)) found.push_back(std::move(host));
        }
        bool const is_exact = std::ranges::find(found, plain) != found.end();
        if (found.size() < 2 || is_exact) continue;
        return fmt::format("{} fits {}", name, fmt::join(found, " and "));
    }
    return "";
}

/// The controller has another working directory.
void make_absolute(std::string& path, std::filesystem::path const& base_dir) {
    if (!path.empty()) path = (base_dir / path).lexically_normal().string();
}

}  // namespace

void check_ssh_hosts(ResolvedConfig& resolved, SshHosts const& hosts, std::string const& file) {
    for (SshHostProblem const& each : hosts.problems) complain_of_entry(resolved, file, each);
    if (!hosts.problems.empty()) return;
    auto const& resources = resolved.config.resources;
    std::string const given = file.empty() ? "ssh.hosts" : file;
    if (hosts.hosts.empty()) {
        std::string const key = file.empty() ? "ssh.hosts" : "ssh.hostfile";
        return complain(resolved, key, "names no host; write hosts = [\"n1\", \"n2 slots=8\"]");
    }
    auto const& excluded = resolved.config.faults.exclude_nodes;
    if (auto const name = ambiguous_name(excluded, hosts.hosts); !name.empty()) {
        return complain(resolved, "faults.exclude_nodes",
                        fmt::format("{} ({}); write the domain", name, given));
    }
    auto const usable = usable_hosts(hosts.hosts, excluded);
    auto const count = static_cast<int>(usable.size());
    if (count < static_cast<int>(hosts.hosts.size()) && count < resources.nodes) {
        return complain(
            resolved, "faults.exclude_nodes",
            fmt::format("{} ({}); resources.nodes = {}", left_of(usable), given, resources.nodes));
    }
    if (resources.nodes > count && !unread(resolved, "resources.nodes")) {
        complain(resolved, "resources.nodes",
                 fmt::format("{} {} given ({}); nearest valid: {}", count,
                             count == 1 ? "host is" : "hosts are", given, count));
    }
    int const spare = std::max(0, count - resources.nodes);
    if (resources.nodes <= count && resources.spares > spare &&
        !unread(resolved, "resources.spares")) {
        complain(resolved, "resources.spares",
                 fmt::format("{} of the {} hosts {} left; nearest valid: {}", spare, count,
                             spare == 1 ? "is" : "are", spare));
    }
    if (unread(resolved, "resources.gpus_per_node")) return;
    int const used = std::min(count, resources.nodes + resources.spares);
    for (int i = 0; i < used; ++i) {
        SshHost const& host = usable[static_cast<std::size_t>(i)];
        if (host.slots == 0 || host.slots >= resources.gpus_per_node) continue;
        complain(
            resolved, "resources.gpus_per_node",
            fmt::format("{} has slots={}; nearest valid: {}", host.host, host.slots, host.slots));
        return;
    }
}

void settle_ssh_hosts(ResolvedConfig& resolved, std::filesystem::path const& base_dir) {
    auto& ssh = resolved.config.ssh;
    if (resolved.config.resources.backend != "ssh") return;
    make_absolute(ssh.identity, base_dir);
    make_absolute(ssh.known_hosts, base_dir);
    if (unread(resolved, "ssh.hosts") || unread(resolved, "ssh.hostfile")) return;
    if (!ssh.hosts.empty() && !ssh.hostfile.empty()) {
        return complain(resolved, "ssh.hostfile", "ssh.hosts is given, too: keep one of the two");
    }
    if (ssh.hostfile.empty()) {
        return check_ssh_hosts(resolved, parse_host_list(ssh.hosts), "");
    }
    auto const text =
        read_file(base_dir / ssh.hostfile, static_cast<std::int64_t>(kHostFileBytesMax));
    if (text.has_error()) return;  // check_files() has reported it
    std::size_t const before = resolved.problems.size();
    SshHosts const found = parse_host_file(*text);
    check_ssh_hosts(resolved, found, ssh.hostfile);
    if (resolved.problems.size() > before) return;
    for (SshHost const& host : found.hosts) ssh.hosts.push_back(to_entry(host));
    ssh.hostfile.clear();
    if (auto origin = resolved.origins.extract("ssh.hostfile"); !origin.empty()) {
        origin.key() = "ssh.hosts";
        resolved.origins.insert(std::move(origin));
    }
}

bool is_done_by_ssh(std::string_view section, std::string_view key) {
    return (section == "resources" && key == "spares") ||
           (section == "faults" && key == "exclude_nodes");
}

}  // namespace osora::plan
