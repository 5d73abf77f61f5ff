// git as a program: arguments as data, no shell, no hooks of the repository, a limit of time.
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
    /// not_found: there is no git in PATH.
    [[nodiscard]] static Result<Git> find(Environment const& environment);

    /// What `git -C FOLDER ARGUMENTS...` prints, without the last line end. io with git's own words
    /// when it fails; out_of_space when these say so; timed_out.
    [[nodiscard]] Result<std::string> run(
        std::filesystem::path const& folder, std::vector<std::string> const& arguments,
        std::chrono::milliseconds limit = std::chrono::seconds(30)) const;

private:
    Git(std::filesystem::path program, Environment environment)
        : program_(std::move(program)), environment_(std::move(environment)) {}

    std::filesystem::path program_;
    Environment environment_;
};

/// Full name of a commit, in lower case: what is handed to git is never an option or a range.
[[nodiscard]] bool is_commit_hash(std::string const& text);

/// Whether a program's words say that a disk or quota is full.
[[nodiscard]] bool says_disk_is_full(std::string const& text);

}  // namespace osora::cli
