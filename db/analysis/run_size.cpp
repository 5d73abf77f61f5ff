#include "db/analysis/run_size.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace osora::db::analysis {

RunSize size_of(RunSummary const& run) {
    RunSize size;
    size.ranks = run.run.ranks;
    size.nodes = run.run.nodes;
    if (!run.plan) return size;
    size.threads_per_rank = run.plan->chosen.threads_per_rank;
    for (auto const& bucket : run.plan->chosen.buckets) {
        size.global_batch.push_back(bucket.global_batch_size);
    }
    return size;
}

bool has_enough_steps(RunSummary const& run) {
    return run.measured && run.measured->steps_used >= kStepsNeeded;
}

std::string describe(RunSize const& size) {
    std::string text = fmt::format("{} rank{} on {} node{}", size.ranks, size.ranks == 1 ? "" : "s",
                                   size.nodes, size.nodes == 1 ? "" : "s");
    if (!size.global_batch.empty()) {
        text += fmt::format(", global batch {}", fmt::join(size.global_batch, ", "));
    }
    return text;
}

}  // namespace osora::db::analysis
