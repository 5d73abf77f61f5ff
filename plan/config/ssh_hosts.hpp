// The hosts of the ssh backend, from [ssh] hosts or a host file: one "host slots=8 port=22 user=x"
// an entry. Pure; read at submit, when every problem is told, and again by the controller.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

struct SshHost {
    std::string host;  // name or numeric address, without brackets
    std::string user;  // "" = whoever runs osora
    int port = 22;
    int slots = 0;  // workers it may run; 0 = not limited
    int line = 0;   // 1-based line of the host file, or place in ssh.hosts
    friend bool operator==(SshHost const&, SshHost const&) = default;
};

/// One entry: "[USER@]HOST[:PORT] [slots=N] [port=N] [user=NAME]"; an IPv6 address with a port
/// stands in brackets. Open MPI's cpu, count and username are other words for it, its max_slots is
/// passed over. "HOST:2", where MPICH means slots, is refused.
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

/// A host file: blank lines and what follows a '#' are left out. A host that is named twice with
/// one port is a problem of its second line.
[[nodiscard]] SshHosts parse_host_file(std::string_view text);
/// [ssh] hosts: the same, an entry each.
[[nodiscard]] SshHosts parse_host_list(std::vector<std::string> const& entries);

/// Without those that `excluded` names (faults.exclude_nodes), as they were.
[[nodiscard]] std::vector<SshHost> usable_hosts(std::vector<SshHost> hosts,
                                                std::vector<std::string> const& excluded);

/// As parse_ssh_host() reads it back.
[[nodiscard]] std::string to_entry(SshHost const& host);

}  // namespace osora::plan
