// Checked-out and built commits, cached for the next search: STATE/worktrees/REPOSITORY/COMMIT,
// with COMMIT.log and COMMIT.json beside it. COMMIT.json is written last: a folder without it is
// half built and is built again. One process at a time per repository.
#pragma once

#include "base/files/file_lock.hpp"
#include "cli/command/git.hpp"

#include <boost/describe.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace osora::cli {

/// A commit with the outcome of its build.
struct BuiltCommit {
    std::filesystem::path folder;
    std::filesystem::path log;
    std::string why_not;  // "exited with 2": does not build; "": it was built
    [[nodiscard]] bool is_built() const { return why_not.empty(); }
};

struct WorktreeOptions {
    std::vector<std::string> build;  // argv, run in the worktree
    Environment environment;         // size of the build
    std::chrono::milliseconds build_limit = std::chrono::hours(1);
    bool retry_failed = false;  // also rebuild commits that failed to build before
    /// Called before a commit is built.
    std::function<void(std::string const& commit, std::filesystem::path const& log)> on_build = {};
};

class Worktrees {
public:
    /// busy: another osora is building commits of this repository.
    [[nodiscard]] static Result<Worktrees> open(Git git, std::filesystem::path const& repository,
                                                std::filesystem::path const& state,
                                                WorktreeOptions options);

    /// Checks out and builds the commit unless that was done before. out_of_space, io, cancelled
    /// (Ctrl-C): nothing is known of the commit; its half-built folder is removed or will be
    /// rebuilt.
    [[nodiscard]] Result<BuiltCommit> ready(std::string const& commit);

    /// Is not removed to make room while this object exists.
    void keep(std::string const& commit) { pinned_.insert(commit); }

private:
    Worktrees(Git git, FileLock lock, std::filesystem::path repository,
              std::filesystem::path folder, WorktreeOptions options)
        : git_(std::move(git)),
          lock_(std::move(lock)),
          repository_(std::move(repository)),
          folder_(std::move(folder)),
          options_(std::move(options)) {}

    [[nodiscard]] bool is_known(BuiltCommit& built, std::string const& commit) const;
    [[nodiscard]] Result<void> check_out(BuiltCommit const& built, std::string const& commit);
    [[nodiscard]] Result<void> build(BuiltCommit& built);
    [[nodiscard]] Result<void> make_room();
    [[nodiscard]] Result<void> remove(std::string const& commit);
    [[nodiscard]] std::filesystem::path marker_of(std::string const& commit) const {
        return folder_ / (commit + ".json");
    }

    Git git_;
    FileLock lock_;
    std::filesystem::path repository_, folder_;
    WorktreeOptions options_;
    std::set<std::string> pinned_;
};

struct KeptWorktree {
    std::string commit;
    std::int64_t bytes = 0, used_us = 0;
};
struct WorktreeLimits {
    int count = 24;
    std::int64_t bytes = std::int64_t{32} << 30;
    std::int64_t free_bytes = 0;  // current use of their file system
};
/// Least recently used folders to remove before one more is made, so that count and bytes stay
/// below the limits with one more as large as the largest, and that one fits on the disk. Pure.
[[nodiscard]] std::vector<std::string> worktrees_to_remove(std::vector<KeptWorktree> kept,
                                                           WorktreeLimits const& limits);

}  // namespace osora::cli
