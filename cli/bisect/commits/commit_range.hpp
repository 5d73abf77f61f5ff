// Whether osora bisect can try the commits between two runs, and if not, why: of the program's own
// repository (job = "exec": code.commit) or of osora's (osora.commit).
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
    std::vector<std::filesystem::path> roots = {};  // where the runs had the repository
    std::vector<std::string> notes = {};            // what was not committed
    bool is_exec = false;
};

/// What the two runs recorded of their commits. Pure.
struct RecordedCommits {
    std::string factor, good, bad;          // hashes; "" = not recorded
    std::vector<std::string> repositories;  // recorded top folders, bad's first
    std::vector<std::string> notes;
    bool is_exec = false;
};
[[nodiscard]] RecordedCommits recorded_commits(BisectSide const& good, BisectSide const& bad);

/// `build`: the recipe; empty: commits are no factor. Where the recorded repository is not there
/// any more, the one that osora stands in and (osora's own) that of the program are looked at.
[[nodiscard]] CommitRange commit_range(Context const& context, BisectSide const& good,
                                       BisectSide const& bad, std::vector<std::string> build);

/// The recipe: of --set bisect.build, of the bad run, of the good one, of this user's files.
/// invalid_input: another key is set.
[[nodiscard]] Result<std::vector<std::string>> build_recipe(BisectSide const& good,
                                                            BisectSide const& bad,
                                                            plan::ConfigRequest const& layers);

}  // namespace osora::cli
