// Runs the build of one commit: output in a file, a limit of time, Ctrl-C.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

struct BuildJob {
    std::vector<std::string> command;  // argv; without a slash the program is searched in PATH
    std::filesystem::path folder;      // it runs here
    std::filesystem::path log;
    Environment environment;
    std::chrono::milliseconds limit;
};

/// "" when it went well, else "exited with 2", "was stopped after 1 h 00 min", with its last line.
/// Errors say nothing of the commit: not_found (no such program in PATH), cancelled (Ctrl-C),
/// out_of_space, out_of_memory (the kernel or somebody killed it), io.
[[nodiscard]] Result<std::string> run_build(BuildJob const& job);

}  // namespace osora::cli
