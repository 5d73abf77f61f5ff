// Runs git: arguments as data, no shell, no hooks of the repository, a time limit.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

class Git {
public:
    /// not_found: git is not in PATH.
    [[nodiscard]] static Result<Git> find(Environment const& environment);

    /// The output of `git -C FOLDER ARGUMENTS...` without the last line end. Errors: io with git's
    /// message; out_of_space when that says so; timed_out.
    [[nodiscard]] Result<std::string> run(
        std::filesystem::path const& folder, std::vector<std::string> const& arguments,
        std::chrono::milliseconds limit = std::chrono::seconds(30)) const;

private:
    Git(std::filesystem::path program, Environment environment)
        : program_(std::move(program)), environment_(std::move(environment)) {}

    std::filesystem::path program_;
    Environment environment_;
};

/// Whether this is the full name of a commit in lower case: never an option or a range when it is
/// passed to git.
[[nodiscard]] bool is_commit_hash(std::string const& text);

/// Whether a program's output says that a disk or quota is full.
[[nodiscard]] bool says_disk_is_full(std::string const& text);

}  // namespace osora::cli
