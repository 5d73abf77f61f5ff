// How many decoding threads a rank's loader has and how far it decodes ahead, within the host's
// memory. Pure; private to the planner.
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
    LoaderMemory memory;          // of one rank
    std::vector<StepTime> times;  // of each bucket, with the loader
    double mean_step_s = 0;       // over the steps of a pass over the data
    std::string reason;
};

/// The fewest threads that are at most 1 % slower than the best count; the user's numbers as they
/// are. out_of_memory when the given numbers, or the smallest loader, break the budget.
[[nodiscard]] Result<LoaderChoice> choose_loader(PlanContext const& context,
                                                 std::vector<std::int64_t> const& globals,
                                                 Candidate const& candidate);

}  // namespace osora::plan
