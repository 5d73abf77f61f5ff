// Lines that assign a variable of collectives (NCCL_*, TORCH_NCCL_*, GLOO_*): in NCCL's own files,
// and in a machine's files that define an environment. Pure.
#pragma once

#include "base/environment.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology {

/// Whether collectives read it: NCCL_* (not NCCL_VERSION, a note of NVIDIA's container images),
/// TORCH_NCCL_*, TORCH_FR_*, GLOO_*, TP_SOCKET_IFNAME.
[[nodiscard]] bool is_communication_variable(std::string_view name);

/// The variables of an environment; of two entries with the same name the first counts, as for
/// getenv().
[[nodiscard]] std::map<std::string, std::string> communication_variables(
    Environment const& environment);

/// A line that assigns a variable.
struct Assignment {
    std::string name, value;
    int line = 0;       // 1-based
    bool taken = true;  // false: the reader of such a file ignores the line
    bool exact = true;  // false: a shell computes the value ("$(hostname)")
    std::string note = {};
    friend bool operator==(Assignment const&, Assignment const&) = default;
};

/// A file as NCCL reads it (src/misc/param.cc, setEnvFile): NAME=VALUE from the first byte of a
/// line to its end, no quotes, no blanks, '#' only in column 1, 1023 bytes each. Lines that look
/// intended but have no effect are returned with taken = false. Only names that collectives read.
[[nodiscard]] std::vector<Assignment> parse_nccl_conf(std::string_view text);

/// Assignments in files that define an environment: shells (NAME=VALUE, export, setenv), output of
/// a Slurm TaskProlog, /etc/environment, pam_env.conf, image ENV files. Only names that collectives
/// read, without commented-out lines.
[[nodiscard]] std::vector<Assignment> parse_environment_file(std::string_view text);

}  // namespace osora::topology
