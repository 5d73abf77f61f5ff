#include "db/analysis/attribution/step_parts.hpp"

#include "db/analysis/measure.hpp"
#include "protocol/steps/bucket_label.hpp"

#include <algorithm>
#include <cmath>

namespace osora::db::analysis {
namespace {

/// A figure of one step over the ranks; zeros if it was not recorded.
struct Figure {
    double mean = 0, min = 0, max = 0;
    bool known = false;
};

Figure figure_of(StepTable const& steps, char const* name, std::size_t index) {
    auto const found = steps.columns.find(name);
    if (found == steps.columns.end()) return {};
    auto const& column = found->second;
    Figure const figure{column.mean[index], column.min[index], column.max[index], true};
    bool const finite =
        std::isfinite(figure.mean) && std::isfinite(figure.min) && std::isfinite(figure.max);
    return finite ? figure : Figure{};
}

double skew(Figure const& figure) {
    return std::max(0.0, figure.max - figure.mean);
}

/// Divides waiting time among its causes.
void split_wait(StepTable const& steps, std::size_t index, double wait_s, StepParts& into) {
    auto const put = [&](Part part, double seconds) {
        into.s[static_cast<std::size_t>(part)] = seconds;
    };
    auto const arrival = figure_of(steps, "arrival_s", index);
    double const by_ranks = arrival.known ? std::min(wait_s, skew(arrival)) : wait_s;
    double const by_data = std::min(by_ranks, skew(figure_of(steps, "data_wait_s", index)));
    auto const& bucket = steps.buckets[static_cast<std::size_t>(steps.bucket[index])];
    put(Part::wait_data, by_data);
    put(protocol::is_mixed_bucket(bucket) ? Part::imbalance : Part::slower_rank,
        by_ranks - by_data);
    put(Part::wait_network, wait_s - by_ranks);
}

StepParts parts_of(StepTable const& steps, std::size_t index) {
    auto const mean_of = [&](char const* name) { return figure_of(steps, name, index).mean; };
    StepParts parts;
    parts.bucket = steps.bucket[index];
    parts.weight = steps.weight(index);
    parts.step_s = mean_of("step_time_s");
    if (steps.ranks[index] > 0) {
        parts.samples_per_rank = static_cast<double>(steps.samples[index]) / steps.ranks[index];
    }
    parts.work_s = mean_of("forward_s") + mean_of("backward_s");
    auto const communication = figure_of(steps, "exposed_comm_s", index);
    auto const put = [&](Part part, double seconds) {
        parts.s[static_cast<std::size_t>(part)] = seconds;
    };
    put(Part::compute, parts.work_s + mean_of("optimizer_s"));
    put(Part::transfer, communication.min);
    put(Part::loader, mean_of("data_wait_s"));
    put(Part::host, mean_of("other_s"));
    split_wait(steps, index, std::max(0.0, communication.mean - communication.min), parts);
    double sum = 0;
    for (double const seconds : parts.s) sum += seconds;
    put(Part::residual, parts.step_s - sum);
    return parts;
}

}  // namespace

std::vector<StepParts> step_parts(StepTable const& steps) {
    std::vector<StepParts> found;
    for (auto const index : select_steps(steps).used) {
        auto const parts = parts_of(steps, index);
        if (parts.step_s > 0) found.push_back(parts);
    }
    return found;
}

double residual_share(std::vector<StepParts> const& steps) {
    double residual_s = 0, step_s = 0;
    for (auto const& each : steps) {
        residual_s += each.weight * std::abs(each[Part::residual]);
        step_s += each.weight * each.step_s;
    }
    return step_s > 0 ? residual_s / step_s : kUnknown;
}

}  // namespace osora::db::analysis
