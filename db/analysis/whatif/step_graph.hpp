// What waits for what in a training step: the dependency graph of ByteDance's what-if analysis
// ("Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI'25). Pure.
//
// A worker has lanes in which ops run one after another: compute, four of sends and receives, and
// the collectives of data parallelism. Between lanes: a receive before its compute op and behind
// the compute op before that; a send behind its compute op; parameters of a model chunk gathered
// before its first forward; behind the last compute op gc, the all_reduces of layer norms and
// embeddings, gradients (before them when they overlap with backward), clipping, the optimizer.
#pragma once

#include "db/analysis/whatif/step_ops.hpp"

#include <vector>

namespace osora::db::whatif {

/// Ops that end together with a transfer, or a single compute op.
struct GraphUnit {
    std::vector<std::size_t> slots;
    bool transfer = false;
    bool across_dp = false;  // every dp rank takes part
};

struct StepGraph {
    std::vector<std::vector<std::size_t>> after;  // by slot: the slots that must have ended
    std::vector<GraphUnit> units;                 // each after those that it waits for
};

/// invalid_input: sends and receives that do not match, or ops that wait for each other in a cycle.
[[nodiscard]] Result<StepGraph> build_graph(StepOps const& ops);

}  // namespace osora::db::whatif
