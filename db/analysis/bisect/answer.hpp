// Private to bisect/: from what was found and proved to what users are told.
#pragma once

#include "db/analysis/bisect/block_proof.hpp"
#include "db/analysis/bisect/culprit_search.hpp"

namespace osora::db::analysis {

/// Trials, cost and, once good and bad were measured, their levels. False: they were not.
bool fill_levels(TrialRunner const& trials, std::size_t atoms, BisectResult& result);

/// Verdict, culprits with shares, relation, levels and cost. `result.proof` is set before.
void conclude(TrialRunner const& trials, std::size_t atoms, Groups const& found,
              BisectResult& result);

/// True when the proof stands: p, and what is left of the gap is below the resolution.
[[nodiscard]] bool is_complete(Proof const& proof);

/// True when both effects are real and are the larger part of the gap.
[[nodiscard]] bool is_main_part(Proof const& proof, double gap_s);

[[nodiscard]] Result<void> check_options(BisectOptions const& options);

}  // namespace osora::db::analysis
