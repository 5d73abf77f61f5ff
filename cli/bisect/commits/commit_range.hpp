// Whether osora bisect can try the commits between two runs, and if not, why: commits of the user
// program's repository (job = "exec": code.commit) or of osora's (osora.commit).
#pragma once

#include "cli/bisect/bisect_atoms.hpp"
#include "cli/bisect/commits/commit_path.hpp"
#include "cli/command/context.hpp"
#include "plan/config/config_files.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

struct CommitRange {
    CommitSwitch factor = {};                       // why_not is empty when there is a path
    std::optional<CommitPath> path = {};            // from the good run's commit to the bad run's
    std::vector<std::string> build = {};            // argv
    std::vector<std::filesystem::path> roots = {};  // where the repository was when the runs
                                                    // started
    std::vector<std::string> notes = {};            // notes on uncommitted changes
    bool is_exec = false;
};

/// The commits that the two runs recorded. Pure.
struct RecordedCommits {
    std::string factor, good, bad;          // hashes; "" = not recorded
    std::vector<std::string> repositories;  // recorded top folders, the bad run's first
    std::vector<std::string> notes;
    bool is_exec = false;
};
[[nodiscard]] RecordedCommits recorded_commits(BisectSide const& good, BisectSide const& bad);

/// `build`: the recipe; empty: commits are not a factor. If the recorded repository no longer
/// exists, the current one and (for osora's commits) the one of the program are tried.
[[nodiscard]] CommitRange commit_range(Context const& context, BisectSide const& good,
                                       BisectSide const& bad, std::vector<std::string> build);

/// The recipe, from --set bisect.build, the bad run, the good run, or this user's files, in this
/// order. invalid_input: another key is set.
[[nodiscard]] Result<std::vector<std::string>> build_recipe(BisectSide const& good,
                                                            BisectSide const& bad,
                                                            plan::ConfigRequest const& layers);

}  // namespace osora::cli
