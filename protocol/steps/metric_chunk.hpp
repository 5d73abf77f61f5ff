// A node's report of its steps: the figures of its ranks, reduced by its agent. The controller
// merges them (protocol/steps/merged_steps.hpp); only journals of older controllers contain them.
#pragma once

#include "protocol/json.hpp"

#include <boost/describe.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

/// Steps [step0, step0 + n) of the ranks of one node, reduced by its agent.
struct MetricColumn {
    std::vector<double> mean, min, max;
    std::vector<int> argmax;  // global rank that had the maximum
};
struct MetricChunk {
    static constexpr std::string_view kType = "metrics";
    int attempt = 0, node = 0, ranks = 0, step0 = 0;
    std::vector<std::string> bucket;              // per step
    std::vector<int> samples;                     // per step, summed over the node's ranks
    std::map<std::string, MetricColumn> columns;  // by StepMetrics member: "step_time_s", "loss"...
};

/// Each rank of [first_rank, first_rank + ranks) in each step of [step0, step0 + steps): the
/// figures in seconds that chunks reduce. NaN: not reported.
struct RankMatrix {
    static constexpr std::string_view kType = "rank_matrix";
    int attempt = 0, node = 0, first_rank = 0, ranks = 0, step0 = 0, steps = 0;
    std::map<std::string, Bytes> figures;  // by StepMetrics member; encode_matrix
};

BOOST_DESCRIBE_STRUCT(MetricColumn, (), (mean, min, max, argmax))
BOOST_DESCRIBE_STRUCT(MetricChunk, (), (attempt, node, ranks, step0, bucket, samples, columns))
BOOST_DESCRIBE_STRUCT(RankMatrix, (), (attempt, node, first_rank, ranks, step0, steps, figures))

}  // namespace osora::protocol
