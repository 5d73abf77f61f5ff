// Private to bisect/: from two levels to the atoms that make the difference: a single one, several
// only together (and), each alone (or), or each in part (additive).
#pragma once

#include "db/analysis/bisect/path_search.hpp"

#include <vector>

namespace osora::db::analysis {

/// Culprits found so far: groups of atoms; a group has more than one atom if they cannot be
/// separated.
using Groups = std::vector<std::vector<int>>;

struct Suspects {
    std::vector<int> order;       // all atoms, most suspicious first
    std::vector<double> weights;  // by atom
};

[[nodiscard]] Hybrid flip(Hybrid hybrid, Groups const& groups, bool value);

/// Adds to `found` what raises good to bad: afterwards good + found is as slow as bad, or no part
/// of the gap above the resolution remains. Atoms already in `found` are flipped from the start.
[[nodiscard]] Result<void> find_sufficient(Search const& search, Suspects const& suspects,
                                           Groups& found);

/// Adds what keeps bad - found slow: causes that are each sufficient alone, of which one was found.
[[nodiscard]] Result<void> find_redundant(Search const& search, Suspects const& suspects,
                                          Groups& found);

/// Drops members without an effect in good + found and in bad - found.
[[nodiscard]] Result<void> drop_innocent(Search search, std::size_t atoms, Groups& found);

}  // namespace osora::db::analysis
