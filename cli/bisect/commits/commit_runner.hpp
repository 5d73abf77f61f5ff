// Lets a trial run from a commit of the path: builds the commit if needed, and points the trial at
// its worktree. Driven by the trials of osora bisect.
#pragma once

#include "cli/bisect/commits/commit_range.hpp"
#include "cli/bisect/commits/worktrees.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace osora::cli {

class CommitRunner {
public:
    /// `range` has a path, and must outlive this object. Nothing is built before the first trial.
    CommitRunner(CommitRange const& range, std::filesystem::path state, WorktreeOptions options)
        : range_(range), state_(std::move(state)), options_(std::move(options)) {}

    /// Makes `start` run the build of state `state` of the path. Returns "" on success, else why
    /// that commit cannot run. Errors end the search: no disk space, Ctrl-C, the commit of one of
    /// the two runs does not build.
    [[nodiscard]] Result<std::string> place(int state, TrialStart& start);

    /// A message for people, returned once: which parts of the command are the same for all
    /// commits; "": nothing new.
    [[nodiscard]] std::string take_note() { return std::exchange(note_, ""); }

private:
    [[nodiscard]] Result<void> open();
    [[nodiscard]] Result<std::filesystem::path> end_of_path(int state);
    [[nodiscard]] CommitInfo const& commit(int state) const {
        return range_.path->states[static_cast<std::size_t>(state)];
    }
    [[nodiscard]] Result<void> place_program(std::filesystem::path const& tree, TrialStart& start);

    CommitRange const& range_;
    std::filesystem::path state_;
    WorktreeOptions options_;
    std::optional<Worktrees> worktrees_;
    std::filesystem::path good_tree_, bad_tree_;
    std::vector<std::string> left_;
    std::string note_;
};

}  // namespace osora::cli
