// Host lists as Slurm writes them, "n[0-3,07],gpu-a", and back to names. Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora {

constexpr std::size_t kHostsMax = 65536;

/// Names in the order of the list; several brackets in a name count the last one fastest, as Slurm
/// does. invalid_input: brackets that do not pair, a range that runs backwards, more than
/// kHostsMax.
[[nodiscard]] Result<std::vector<std::string>> expand_host_list(std::string_view list);

/// "n0,n3": every Slurm command takes it.
[[nodiscard]] std::string join_hosts(std::vector<std::string> const& hosts);

/// Short, for people and files: "n[1-32,40],gpu-a", by name and number, no name twice; ranges run
/// over the last number of a name, but IPv4 addresses stay whole. expand_host_list() reads it back.
[[nodiscard]] std::string fold_hosts(std::vector<std::string> const& hosts);

}  // namespace osora
