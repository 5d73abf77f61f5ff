// Private to bisect/: where along a path of hybrids, each with one atom more than the one before,
// the level rises. Trials until an error of 1 % or kTrialsMax.
#pragma once

#include "db/analysis/bisect/trial_runner.hpp"

#include <optional>
#include <vector>

namespace osora::db::analysis {

/// What all comparisons of one search share.
struct Search {
    TrialRunner& trials;
    double gap_s = 0;     // bad's level minus good's
    int samples_min = 1;  // of a hybrid that decides
    TrialPhase phase = TrialPhase::search;
};

/// Whether `slower` is slower than `faster` by more than the resolution. Both are tried again until
/// that is sure, as a level that is off by chance would send the search after a gap that is none;
/// `slower` at least `samples_min` times in all.
[[nodiscard]] Result<bool> is_apart(Search const& search, Hybrid const& faster,
                                    Hybrid const& slower, int samples_min = 1);

/// Each step flips a group of atoms: of more than one where hybrids between do not start.
struct Path {
    Hybrid base;
    std::vector<std::vector<int>> steps;  // in the order in which they are flipped
    std::vector<double> weights;          // of each: how likely the rise is there
    bool is_ordered = false;              // steps must stay in this order: commits
    /// Base with the first `count` steps flipped.
    [[nodiscard]] Hybrid hybrid(int count) const;
};

enum class Place { low, between, high, does_not_start };
/// Of `hybrid` among the levels of its neighbours.
[[nodiscard]] Result<Place> place_of(Search const& search, Hybrid const& hybrid, Level const& low,
                                     Level const& high);

struct LevelJump {
    std::vector<int> group;    // flipped where the level rises
    std::vector<int> earlier;  // atoms of the steps before it
    Level before, after;
};
/// `low` and `high` are the levels of the path's ends. None: the gap went below the resolution
/// before one atom was left.
[[nodiscard]] Result<std::optional<LevelJump>> find_jump(Search const& search, Path path,
                                                         Level const& low, Level const& high);

}  // namespace osora::db::analysis
