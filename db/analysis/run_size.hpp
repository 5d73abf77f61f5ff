// Properties that make the step times of runs with the same work comparable: the same ranks, nodes,
// threads and batches. Pure.
#pragma once

#include "db/analysis/history.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

/// Fewer steps after the warm-up than this say nothing about a run.
constexpr int kStepsNeeded = 10;

struct RunSize {
    int ranks = 1, nodes = 1, threads_per_rank = 0;
    std::vector<int> global_batch;  // by bucket of the run file; empty = not known

    friend auto operator<=>(RunSize const&, RunSize const&) = default;
};

[[nodiscard]] RunSize size_of(RunSummary const& run);
[[nodiscard]] bool has_enough_steps(RunSummary const& run);
/// "8 ranks on 1 node, global batch 16, 4"
[[nodiscard]] std::string describe(RunSize const& size);

}  // namespace osora::db::analysis
