#include "db/analysis/run_size.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace osora::db::analysis {

RunSize size_of(RunSummary const& run) {
    RunSize size;
    size.ranks = run.run.ranks;
    size.nodes = run.run.nodes;
    size.gpu = gpu_of(run.device);
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

std::string gpu_of(std::string_view device) {
    constexpr std::string_view kComma = ", ", kLast = ", NCCL ";
    auto const first = device.find(kComma), last = device.rfind(kLast);
    if (!device.starts_with("cuda") || last == std::string_view::npos || first >= last) return {};
    return std::string(device.substr(first + kComma.size(), last - first - kComma.size()));
}

std::string describe(RunSize const& size) {
    std::string text = fmt::format("{} rank{} on {} node{}", size.ranks, size.ranks == 1 ? "" : "s",
                                   size.nodes, size.nodes == 1 ? "" : "s");
    if (!size.global_batch.empty()) {
        text += fmt::format(", global batch {}", fmt::join(size.global_batch, ", "));
    }
    if (!size.gpu.empty()) text += ", " + size.gpu;
    return text;
}

}  // namespace osora::db::analysis
