// The commits between those of a good and a bad run, one first-parent step after the other.
#pragma once

#include "cli/command/git.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct CommitInfo {
    std::string hash;          // the full hash
    std::string first_parent;  // "" for the first commit of a repository
    std::string date;          // of the author, "2026-05-03"
    std::string subject;       // first line, UTF-8; of people: may hold anything else

    [[nodiscard]] std::string short_hash() const { return hash.substr(0, 10); }
};

/// The good run's commit first, the bad run's last. If the bad commit does not descend from the
/// good one, the path first goes back to their common ancestor, undoing commits, and then forward.
struct CommitPath {
    std::filesystem::path repository;  // top folder
    std::vector<CommitInfo> states;    // >= 2
    int undone = 0;                    // number of steps that go back

    [[nodiscard]] int steps() const { return static_cast<int>(states.size()) - 1; }
    [[nodiscard]] bool is_undone(int step) const { return step < undone; }
    /// The commit that step `step` (0-based, from state `step` to the next) adds or undoes.
    [[nodiscard]] CommitInfo const& commit(int step) const {
        return states[static_cast<std::size_t>(is_undone(step) ? step : step + 1)];
    }
};

inline constexpr int kPathCommitsMax = 10'000;

/// invalid_input: not in this repository (a shallow clone?), the same commit, no line of first
/// parents between them, too many commits.
[[nodiscard]] Result<CommitPath> commit_path(Git const& git, std::filesystem::path const& folder,
                                             std::string const& good, std::string const& bad);

/// Parses the output of `git log -z --format=kCommitFormat`, newest first; corrupt: it is something
/// else. Pure.
[[nodiscard]] Result<std::vector<CommitInfo>> parse_commits(std::string_view text);
inline constexpr char const* kCommitFormat = "%H%x1f%P%x1f%as%x1f%s";

/// From good back along `down` and forward along `up` (both newest first, as `git log` lists
/// TURN..GOOD and GOOD..BAD); `turn` is where they meet. invalid_input: they do not meet. Pure.
[[nodiscard]] Result<std::vector<CommitInfo>> joined_path(std::vector<CommitInfo> const& down,
                                                          CommitInfo const& turn,
                                                          std::vector<CommitInfo> const& up);

}  // namespace osora::cli
