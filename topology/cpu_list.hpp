// Lists of CPUs as Linux writes them: "0-3,8,10-11". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology {

/// Ascending, without repeats; nullopt when it is not a list. White space around it and an empty
/// list are fine.
[[nodiscard]] std::optional<std::vector<int>> parse_cpu_list(std::string_view list);
[[nodiscard]] std::string format_cpu_list(std::vector<int> cpus);

}  // namespace osora::topology
