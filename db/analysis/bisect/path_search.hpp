// Private to bisect/: finds where the level rises along a path of hybrids, each with one more atom
// than the one before. Repeats trials until the error is 1 %, or kTrialsMax.
#pragma once

#include "db/analysis/bisect/trial_runner.hpp"

#include <optional>
#include <vector>

namespace osora::db::analysis {

/// State that all comparisons of one search share.
struct Search {
    TrialRunner& trials;
    double gap_s = 0;     // bad's level minus good's
    int samples_min = 1;  // number of trials of a hybrid that decides
    TrialPhase phase = TrialPhase::search;
};

/// Returns whether `slower` is slower than `faster` by more than the resolution. Repeats both until
/// that is sure, because a level that is off by chance would make the search follow a gap that does
/// not exist; runs `slower` at least `samples_min` times in all.
[[nodiscard]] Result<bool> is_apart(Search const& search, Hybrid const& faster,
                                    Hybrid const& slower, int samples_min = 1);

/// Each step flips a group of atoms, of more than one if hybrids between them do not start.
struct Path {
    Hybrid base;
    std::vector<std::vector<int>> steps;  // in the order in which they are flipped
    std::vector<double> weights;          // for each step: how likely the rise is there
    bool is_ordered = false;              // steps must keep their order: commits
    /// The base with the first `count` steps flipped.
    [[nodiscard]] Hybrid hybrid(int count) const;
};

enum class Place { low, between, high, does_not_start };
/// Place of `hybrid` relative to the levels of its neighbours.
[[nodiscard]] Result<Place> place_of(Search const& search, Hybrid const& hybrid, Level const& low,
                                     Level const& high);

struct LevelJump {
    std::vector<int> group;    // atoms flipped where the level rises
    std::vector<int> earlier;  // atoms of the steps before it
    Level before, after;
};
/// `low` and `high` are the levels of the path's ends. None: the gap fell below the resolution
/// before one atom remained.
[[nodiscard]] Result<std::optional<LevelJump>> find_jump(Search const& search, Path path,
                                                         Level const& low, Level const& high);

}  // namespace osora::db::analysis
