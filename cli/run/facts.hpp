// The fingerprint of a submission: what could make two runs differ although their run files are the
// same.
#pragma once

#include "cli/command/context.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace osora::cli {

/// Versions, host, processor, the worker's hash, and every NCCL_, CUDA_, TORCH_ and OMP_ variable.
/// Leaves out what cannot be read.
[[nodiscard]] std::map<std::string, std::string> submission_facts(
    Environment const& environment, std::filesystem::path const& worker);

/// "Intel(R) Xeon(R)..." from /proc/cpuinfo; empty if it is missing there.
[[nodiscard]] std::string cpu_model(std::string_view cpuinfo);

/// The variables that change a run's behaviour.
[[nodiscard]] bool is_relevant_variable(std::string_view entry);

}  // namespace osora::cli
