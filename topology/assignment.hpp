// Lines that give a variable of collectives (NCCL_*, TORCH_NCCL_*, GLOO_*) a value: in NCCL's own
// files, and in the files of a machine that make an environment. Pure.
#pragma once

#include "base/environment.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology {

/// Whether collectives read it: NCCL_*, TORCH_NCCL_*, TORCH_FR_*, GLOO_*, TP_SOCKET_IFNAME.
[[nodiscard]] bool is_communication_variable(std::string_view name);

/// Those of an environment; the first of two entries of a name counts, as for getenv().
[[nodiscard]] std::map<std::string, std::string> communication_variables(
    Environment const& environment);

/// A line that gives a variable a value.
struct Assignment {
    std::string name, value;
    int line = 0;       // 1-based
    bool taken = true;  // false: the reader of such a file does nothing with the line
    bool exact = true;  // false: the value is made by a shell ("$(hostname)")
    std::string note = {};
    friend bool operator==(Assignment const&, Assignment const&) = default;
};

/// A file as NCCL reads it (src/misc/param.cc, setEnvFile): NAME=VALUE from the first byte of a
/// line to its end, no quotes, no blanks, '#' only in column 1, 1023 bytes each. Lines that look
/// meant but do nothing come with taken = false. Only names that collectives read.
[[nodiscard]] std::vector<Assignment> parse_nccl_conf(std::string_view text);

/// Assignments in files that make an environment: shells (NAME=VALUE, export, setenv), what a Slurm
/// TaskProlog prints, /etc/environment, pam_env.conf, image ENV files. Only names that collectives
/// read; commented-out lines are none.
[[nodiscard]] std::vector<Assignment> parse_environment_file(std::string_view text);

}  // namespace osora::topology
