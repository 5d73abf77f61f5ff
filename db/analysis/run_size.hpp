// Properties that make the step times of runs with the same work comparable: the same ranks, nodes,
// threads, batches and model of GPU. Pure.
#pragma once

#include "db/analysis/history.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::db::analysis {

/// Fewer steps after the warm-up than this say nothing about a run.
constexpr int kStepsNeeded = 10;

struct RunSize {
    int ranks = 1, nodes = 1, threads_per_rank = 0;
    std::vector<int> global_batch;  // by bucket of the run file; empty = not known
    std::string gpu;                // "NVIDIA H200"; empty = a CPU, or not known

    friend auto operator<=>(RunSize const&, RunSize const&) = default;
};

[[nodiscard]] RunSize size_of(RunSummary const& run);
[[nodiscard]] bool has_enough_steps(RunSummary const& run);
/// "cuda:0, NVIDIA H200, NCCL 2.28.9" -> "NVIDIA H200"; empty: a CPU, or an older osora's run.
[[nodiscard]] std::string gpu_of(std::string_view device);
/// "8 ranks on 1 node, global batch 16, 4, NVIDIA H200"
[[nodiscard]] std::string describe(RunSize const& size);

}  // namespace osora::db::analysis
