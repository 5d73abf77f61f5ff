// The NCCL settings that a run will see, each with where it comes from. Nothing is tuned here: what
// nobody set, NCCL decides. Pure.
#pragma once

#include "plan/config/origin.hpp"
#include "plan/decision.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::plan {

/// By name. The run file's [nccl] wins over the environment, and says so; of the environment only
/// names that start with NCCL_ count.
[[nodiscard]] std::vector<NcclSetting> nccl_settings(
    std::map<std::string, std::string> const& run_file, Origins const& origins,
    std::map<std::string, std::string> const& environment, bool gpu);

/// "run file: stage1.toml:41", "--set", "site file: /etc/osora/site.toml:3", "environment".
[[nodiscard]] std::string origin_text(Origin const& origin);

}  // namespace osora::plan
