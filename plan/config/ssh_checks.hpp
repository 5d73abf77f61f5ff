// Rules of [ssh]: valid hosts, enough of them for the run, with room for its workers.
#pragma once

#include "plan/config/run_file.hpp"
#include "plan/config/ssh_hosts.hpp"

#include <filesystem>
#include <string_view>

namespace osora::plan {

/// Appends problems of `hosts`; those of ssh.hosts when `file` is empty, else of that host file
/// under its displayed name. Pure.
void check_ssh_hosts(ResolvedConfig& resolved, SshHosts const& hosts, std::string const& file);

/// Runs check_ssh_hosts() on the hosts in the run file or its host file. On success
/// `config.ssh.hosts` holds them all and `hostfile` is empty, so that a run keeps its hosts when
/// the file changes; paths are absolute. Does nothing for other backends.
void settle_ssh_hosts(ResolvedConfig& resolved, std::filesystem::path const& base_dir);

/// Keys that have an effect with this backend and not with the local one.
[[nodiscard]] bool is_done_by_ssh(std::string_view section, std::string_view key);

}  // namespace osora::plan
