// Nodes that a job must not get, under the names that Slurm knows: sbatch refuses a job whose
// --exclude has a name that is no node. Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

/// The arguments whose output parse_nodes() reads: the nodes of all partitions, hidden ones
/// included; `cluster`: "" = the one that the command talks to. Run it without SINFO_* variables.
[[nodiscard]] std::vector<std::string> sinfo_arguments(std::string_view cluster = "");

/// The names of the nodes. invalid_input: there is none, or a line that cannot be parsed.
[[nodiscard]] Result<std::vector<std::string>> parse_nodes(std::string_view output);

struct Exclusion {
    std::vector<std::string> nodes;    // as Slurm writes them, in the order of `wanted`, each once
    std::vector<std::string> unknown;  // of `wanted`: names that are no node's
};
/// `wanted`: names with or without their domain, or lists ("n[1-3]"); `known`: of parse_nodes().
[[nodiscard]] Exclusion exclusion_of(std::vector<std::string> const& wanted,
                                     std::vector<std::string> const& known);

}  // namespace osora::slurm
