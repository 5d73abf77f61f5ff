// The fingerprint of a submission: what could make two runs differ that is not in their run files.
#pragma once

#include "cli/command/context.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace osora::cli {

/// Versions, host, processor, the worker's hash, and every NCCL_, CUDA_, TORCH_ and OMP_ variable.
/// What cannot be read is left out.
[[nodiscard]] std::map<std::string, std::string> submission_facts(
    Environment const& environment, std::filesystem::path const& worker);

/// "Intel(R) Xeon(R)..." of /proc/cpuinfo; empty when it does not say.
[[nodiscard]] std::string cpu_model(std::string_view cpuinfo);

/// The variables that change what a run does.
[[nodiscard]] bool is_relevant_variable(std::string_view entry);

}  // namespace osora::cli
