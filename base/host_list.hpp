// Host lists in Slurm's notation, "n[0-3,07],gpu-a", to names and back. Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora {

constexpr std::size_t kHostsMax = 65536;

/// Names in the order of the list; with several brackets in a name the last one counts fastest, as
/// in Slurm. invalid_input: unmatched brackets, a range that runs backwards, more than kHostsMax.
[[nodiscard]] Result<std::vector<std::string>> expand_host_list(std::string_view list);

/// "n0,n3": every Slurm command accepts it.
[[nodiscard]] std::string join_hosts(std::vector<std::string> const& hosts);

/// Short, for people and files: "n[1-32,40],gpu-a", by name and number, without duplicates; ranges
/// run over the last number of a name, but IPv4 addresses stay whole. expand_host_list() parses it.
[[nodiscard]] std::string fold_hosts(std::vector<std::string> const& hosts);

}  // namespace osora
