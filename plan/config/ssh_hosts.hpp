// The hosts of the ssh backend, from [ssh] hosts or a host file: entries like "host slots=8 port=22
// user=x". Pure; read at submit, which reports every problem, and again by the controller.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

struct SshHost {
    std::string host;  // name or numeric address, without brackets
    std::string user;  // "" = the user who runs osora
    int port = 22;
    int slots = 0;  // maximum number of workers; 0 = unlimited
    int line = 0;   // 1-based line of the host file, or place in ssh.hosts
    friend bool operator==(SshHost const&, SshHost const&) = default;
};

/// One entry: "[USER@]HOST[:PORT] [slots=N] [port=N] [user=NAME]"; an IPv6 address with a port is
/// in brackets. Open MPI's cpu, count and username are accepted as aliases, its max_slots is
/// ignored. "HOST:2", where MPICH means slots, is rejected.
[[nodiscard]] Result<SshHost> parse_ssh_host(std::string_view entry);

struct SshHostProblem {
    int line = 0;
    std::string message;
};
struct SshHosts {
    std::vector<SshHost> hosts;  // in the order of the text
    std::vector<SshHostProblem> problems;
};

constexpr std::size_t kHostFileBytesMax = 4u << 20;

/// A host file: blank lines and text after a '#' are ignored. A host that is named twice with one
/// port is a problem of its second line.
[[nodiscard]] SshHosts parse_host_file(std::string_view text);
/// [ssh] hosts: the same, one entry each.
[[nodiscard]] SshHosts parse_host_list(std::vector<std::string> const& entries);

/// Hosts without those in `excluded` (faults.exclude_nodes), in the same order.
[[nodiscard]] std::vector<SshHost> usable_hosts(std::vector<SshHost> hosts,
                                                std::vector<std::string> const& excluded);

/// In the form that parse_ssh_host() reads.
[[nodiscard]] std::string to_entry(SshHost const& host);

}  // namespace osora::plan
