// What a node tells of its steps: the figures of its ranks, reduced by its agent. In the journal
// they change no state.
#pragma once

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
    int epoch = 0, node = 0, ranks = 0, step0 = 0;
    std::vector<std::string> bucket;              // per step
    std::vector<int> samples;                     // per step, summed over the node's ranks
    std::map<std::string, MetricColumn> columns;  // by StepMetrics member: "step_time_s", "loss"...
};

BOOST_DESCRIBE_STRUCT(MetricColumn, (), (mean, min, max, argmax))
BOOST_DESCRIBE_STRUCT(MetricChunk, (), (epoch, node, ranks, step0, bucket, samples, columns))

}  // namespace osora::protocol
