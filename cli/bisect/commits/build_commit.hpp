// Runs the build of one commit: output to a file, a time limit, Ctrl-C.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

struct BuildJob {
    std::vector<std::string> command;  // argv; a program without a slash is searched in PATH
    std::filesystem::path folder;      // the working directory
    std::filesystem::path log;
    Environment environment;
    std::chrono::milliseconds limit;
};

/// "" on success, else "exited with 2" or "was stopped after 1 h 00 min" with the log's last line.
/// Errors do not say anything about the commit: not_found (no such program in PATH), cancelled
/// (Ctrl-C), out_of_space, out_of_memory (killed by the kernel or by somebody), io.
[[nodiscard]] Result<std::string> run_build(BuildJob const& job);

}  // namespace osora::cli
