// Steps in the journal: the chunks of all nodes merged (docs/rfc/014). Pure.
#pragma once

#include "base/result.hpp"
#include "protocol/steps/metric_chunk.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

/// Steps [step0, step0 + n), each over the ranks that had reported it; the other ranks of a step
/// follow in a later record. Readers merge the two (FigureSummary).
struct MergedSteps {
    static constexpr std::string_view kType = "steps";
    int attempt = 0, step0 = 0;
    std::vector<int> ranks;                       // per step, the ranks included
    std::vector<int> samples;                     // per step, summed over them
    std::vector<std::string> bucket;              // per step
    std::map<std::string, MetricColumn> columns;  // as in MetricChunk, over those ranks
    /// Per step, for figures that not all of them reported: how many did.
    std::map<std::string, std::vector<int>> reported_by = {};

    // Nodes [first_node, first_node + n); see NodeReport.
    int first_node = 0;
    std::vector<int> next_steps;  // 0: no news of this node
    std::vector<int> local_ranks = {};
    Bytes node_figures = {};
};

/// A figure of a step over ranks.
struct FigureSummary {
    std::int64_t n = 0;  // ranks; 0: none reported it
    double mean = 0, min = 0, max = 0;
    int argmax = 0;
    /// n-weighted mean. NaN counts as the greatest value (as in MetricReducer), so argmax is a rank
    /// that has it; of equal maxima it is the lowest rank.
    void merge(FigureSummary const& other);
};

/// A node's last report: means over the steps of one chunk. NaN, -1: not reported. In MergedSteps
/// the figures are within 0.1 % (matrix_codec); they are for people who watch the run.
struct NodeReport {
    int node = 0, next_step = 0;  // its steps below are in the journal
    double step_time_s = std::nan(""), arrival_s = std::nan("");  // of the rank that took longest
    double exposed_comm_s = std::nan("");                         // mean over its ranks
    int latest_local_rank = -1;                                   // in the newest step
    double rss_bytes = std::nan(""), peak_allocated_bytes = std::nan("");  // maximum over ranks
};

/// Figure `column`, named `name`, of step `index`; n = 0: not reported, or the record is damaged.
[[nodiscard]] FigureSummary summary_of(MergedSteps const& steps, std::string const& name,
                                       MetricColumn const& column, std::size_t index);

[[nodiscard]] NodeReport node_report_of(MetricChunk const& chunk, int ranks_per_node);
/// `reports`: by node, ascending.
void put_nodes(MergedSteps& steps, std::vector<NodeReport> const& reports);
/// The nodes with news. invalid_input: damaged.
[[nodiscard]] Result<std::vector<NodeReport>> nodes_of(MergedSteps const& steps);

/// A chunk from a controller that did not merge; without figures of nodes.
[[nodiscard]] MergedSteps merged_steps_of(MetricChunk const& chunk);

BOOST_DESCRIBE_STRUCT(MergedSteps, (),
                      (attempt, step0, ranks, samples, bucket, columns, reported_by, first_node,
                       next_steps, local_ranks, node_figures))

}  // namespace osora::protocol
