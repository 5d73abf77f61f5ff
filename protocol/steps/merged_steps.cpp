// Records may be damaged or written by a neighbouring version: columns may be missing or short.
#include "protocol/steps/merged_steps.hpp"

#include "protocol/steps/matrix_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace osora::protocol {
namespace {

constexpr double kGiga = 1e9;  // the codec's upper limit is 1e12
constexpr std::size_t kMergedNodesMax = 1 << 16;
constexpr int kFirstNodeMax = 1 << 24;

/// The figures of a node, in their order in `node_figures`, and their unit there.
struct Field {
    double NodeReport::*figure;
    double unit;
};
constexpr std::array<Field, 5> kFields{{{&NodeReport::step_time_s, 1},
                                        {&NodeReport::arrival_s, 1},
                                        {&NodeReport::exposed_comm_s, 1},
                                        {&NodeReport::rss_bytes, kGiga},
                                        {&NodeReport::peak_allocated_bytes, kGiga}}};

std::vector<double> const* values_of(MetricChunk const& chunk, char const* name,
                                     std::vector<double> MetricColumn::*member) {
    auto const found = chunk.columns.find(name);
    return found != chunk.columns.end() ? &(found->second.*member) : nullptr;
}

/// The first step after the chunk.
int end_of(MetricChunk const& chunk) {
    auto const end = std::int64_t{chunk.step0} + static_cast<std::int64_t>(chunk.bucket.size());
    return static_cast<int>(std::min<std::int64_t>(end, std::numeric_limits<int>::max()));
}

double mean_of(std::vector<double> const* values) {
    if (values == nullptr) return std::nan("");
    double sum = 0;
    int count = 0;
    for (double const each : *values) {
        if (!std::isfinite(each)) continue;
        sum += each;
        ++count;
    }
    return count > 0 ? sum / count : std::nan("");
}

/// Ranks that reported figure `name` of step `index`; 0 where the record is damaged.
int ranks_of(MergedSteps const& steps, std::string const& name, std::size_t index) {
    auto const own = steps.reported_by.find(name);
    auto const& ranks = own != steps.reported_by.end() ? own->second : steps.ranks;
    return index < ranks.size() ? std::max(0, ranks[index]) : 0;
}

}  // namespace

void FigureSummary::merge(FigureSummary const& other) {
    if (other.n <= 0) return;
    if (n <= 0) {
        *this = other;
        return;
    }
    auto const total = static_cast<double>(n + other.n);
    mean = (mean * static_cast<double>(n) + other.mean * static_cast<double>(other.n)) / total;
    n += other.n;
    if (std::isnan(min) || other.min < min) min = std::isnan(other.min) ? min : other.min;
    bool const both_nan = std::isnan(max) && std::isnan(other.max);
    if (both_nan || max == other.max) {
        argmax = std::min(argmax, other.argmax);
    } else if (!std::isnan(max) && (std::isnan(other.max) || other.max > max)) {
        argmax = other.argmax;
        max = other.max;
    }
}

FigureSummary summary_of(MergedSteps const& steps, std::string const& name,
                         MetricColumn const& column, std::size_t index) {
    auto const size =
        std::min({column.mean.size(), column.min.size(), column.max.size(), column.argmax.size()});
    if (index >= size) return {};
    return {ranks_of(steps, name, index), column.mean[index], column.min[index], column.max[index],
            column.argmax[index]};
}

NodeReport node_report_of(MetricChunk const& chunk, int ranks_per_node) {
    NodeReport report;
    report.node = chunk.node;
    report.next_step = end_of(chunk);
    report.step_time_s = mean_of(values_of(chunk, "step_time_s", &MetricColumn::max));
    report.arrival_s = mean_of(values_of(chunk, "arrival_s", &MetricColumn::max));
    report.exposed_comm_s = mean_of(values_of(chunk, "exposed_comm_s", &MetricColumn::mean));
    auto const arrivals = chunk.columns.find("arrival_s");
    if (arrivals != chunk.columns.end() && !arrivals->second.argmax.empty()) {
        auto const first_rank = std::int64_t{chunk.node} * ranks_per_node;
        auto const local_rank = arrivals->second.argmax.back() - first_rank;
        bool const is_here = local_rank >= 0 && local_rank < ranks_per_node;
        if (is_here) report.latest_local_rank = static_cast<int>(local_rank);
    }
    auto const* rss = values_of(chunk, "rss_bytes", &MetricColumn::max);
    if (rss != nullptr && !rss->empty()) report.rss_bytes = rss->back();
    if (auto const* peaks = values_of(chunk, "peak_allocated_bytes", &MetricColumn::max)) {
        for (double const each : *peaks) {
            report.peak_allocated_bytes = std::fmax(report.peak_allocated_bytes, each);
        }
    }
    return report;
}

void put_nodes(MergedSteps& steps, std::vector<NodeReport> const& reports) {
    if (reports.empty()) return;
    steps.first_node = reports.front().node;
    auto const nodes = static_cast<std::size_t>(reports.back().node - steps.first_node + 1);
    steps.next_steps.assign(nodes, 0);
    steps.local_ranks.assign(nodes, -1);
    std::vector<float> values(kFields.size() * nodes, std::nanf(""));
    for (NodeReport const& each : reports) {
        auto const at = static_cast<std::size_t>(each.node - steps.first_node);
        steps.next_steps[at] = each.next_step;
        steps.local_ranks[at] = each.latest_local_rank;
        for (std::size_t i = 0; i < kFields.size(); ++i) {
            values[i * nodes + at] = static_cast<float>(each.*kFields[i].figure / kFields[i].unit);
        }
    }
    steps.node_figures.value = encode_matrix(values, nodes);
}

Result<std::vector<NodeReport>> nodes_of(MergedSteps const& steps) {
    std::size_t const nodes = steps.next_steps.size();
    bool const has_figures = !steps.node_figures.value.empty();
    bool const is_known = steps.first_node >= 0 && steps.first_node <= kFirstNodeMax;
    if (nodes > kMergedNodesMax || !is_known ||
        (has_figures && steps.local_ranks.size() != nodes)) {
        return Error{Errc::invalid_input,
                     fmt::format("steps: {} nodes from {}, {} of {} bytes", nodes, steps.first_node,
                                 steps.local_ranks.size(), steps.node_figures.value.size())};
    }
    std::vector<float> values;
    if (has_figures) {
        OSORA_TRY(values, decode_matrix(steps.node_figures.value, kFields.size(), nodes));
    }
    std::vector<NodeReport> reports;
    for (std::size_t at = 0; at < nodes; ++at) {
        if (steps.next_steps[at] <= 0) continue;
        NodeReport each;
        each.node = steps.first_node + static_cast<int>(at);
        each.next_step = steps.next_steps[at];
        if (has_figures) each.latest_local_rank = steps.local_ranks[at];
        for (std::size_t i = 0; i < kFields.size() && has_figures; ++i) {
            each.*kFields[i].figure = values[i * nodes + at] * kFields[i].unit;
        }
        reports.push_back(each);
    }
    return reports;
}

MergedSteps merged_steps_of(MetricChunk const& chunk) {
    MergedSteps steps;
    steps.attempt = chunk.attempt;
    steps.step0 = chunk.step0;
    steps.ranks.assign(chunk.bucket.size(), chunk.ranks);
    steps.samples = chunk.samples;
    steps.bucket = chunk.bucket;
    steps.columns = chunk.columns;
    steps.first_node = chunk.node;
    steps.next_steps = {end_of(chunk)};
    return steps;
}

}  // namespace osora::protocol
