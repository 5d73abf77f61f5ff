// Private to bisect/: turns what was found and proved into the answer for users.
#pragma once

#include "db/analysis/bisect/block_proof.hpp"
#include "db/analysis/bisect/culprit_search.hpp"

namespace osora::db::analysis {

/// Sets trials, cost and, if good and bad were measured, their levels. False: they were not.
bool fill_levels(TrialRunner const& trials, std::size_t atoms, BisectResult& result);

/// Sets verdict, culprits with shares, relation, levels and cost. `result.proof` must be set
/// before.
void conclude(TrialRunner const& trials, std::size_t atoms, Groups const& found,
              BisectResult& result);

/// True when the proof holds: p is small enough, and what remains of the gap is below the
/// resolution.
[[nodiscard]] bool is_complete(Proof const& proof);

/// True when both effects are real and explain the larger part of the gap.
[[nodiscard]] bool is_main_part(Proof const& proof, double gap_s);

[[nodiscard]] Result<void> check_options(BisectOptions const& options);

}  // namespace osora::db::analysis
