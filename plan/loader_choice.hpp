// The number of a rank's decoding threads and how far they decode ahead, within the host's memory.
// Pure; private to the planner.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/loader_memory.hpp"
#include "plan/layout/layout_search.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

struct LoaderChoice {
    int num_workers = 1;
    int prefetch_factor = 2;
    LoaderMemory memory;          // of one rank; the total with that of evaluations
    std::vector<StepTime> times;  // of each bucket, with the loader
    double mean_step_s = 0;       // over the steps of one pass over the data
    std::string reason;
};

/// The fewest threads that are at most 1 % slower than the best count; values set by the user are
/// kept. out_of_memory if the given values, or the smallest loader, exceed the budget.
[[nodiscard]] Result<LoaderChoice> choose_loader(PlanContext const& context,
                                                 std::vector<std::int64_t> const& globals,
                                                 Candidate const& candidate);

/// Of a rank's host memory, for the loader of evaluations beside that of the training, by micro-
/// batches of each bucket; 0: nothing is evaluated, or nothing decoded.
[[nodiscard]] std::int64_t evaluation_bytes(PlanContext const& context,
                                            std::vector<std::int64_t> const& micro_batch_sizes);

/// What limits a rank's loader to `budget` bytes, of which evaluations take `evaluation`: users
/// give the memory of a node, and messages about it have that of a rank.
[[nodiscard]] std::string loader_limit_name(PlanContext const& context, std::int64_t budget,
                                            std::int64_t evaluation);

}  // namespace osora::plan
