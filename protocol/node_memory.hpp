// Which nodes have failed runs recently: STATE/node_memory.json. A fault counts 1 (2: the host did
// not answer) and half as much a day later; a node whose score is too high is left out of new jobs
// until the score has decayed (Slurm), or used last (ssh). Pure.
#pragma once

#include "base/result.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

struct HostFault {
    std::string host, cause;
    int weight = 1;
};

struct NodeRecord {
    std::string host;
    double score = 0;  // at updated_us
    std::int64_t updated_us = 0;
    std::string cause;  // of the last fault
    friend bool operator==(NodeRecord const&, NodeRecord const&) = default;
};
struct NodeMemory {
    std::string schema = "osora.node_memory/1";
    std::vector<NodeRecord> nodes;
    friend bool operator==(NodeMemory const&, NodeMemory const&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeRecord, (), (host, score, updated_us, cause))
BOOST_DESCRIBE_STRUCT(NodeMemory, (), (schema, nodes))

inline constexpr double kHalfLifeS = 86400;
inline constexpr double kTooMuch = 1.5;          // two faults within ten hours
inline constexpr std::size_t kExcludedMax = 50;  // a bug must not exclude a whole cluster

/// A record's score at `now_us`; clocks that run backwards change nothing.
[[nodiscard]] double score_at(NodeRecord const& record, std::int64_t now_us);

/// When its score falls below kTooMuch; 0 for one that never reached it.
[[nodiscard]] std::int64_t excluded_until_us(NodeRecord const& record);

/// Adds one more fault of `host` with `weight`; records that have decayed are dropped.
[[nodiscard]] NodeMemory with_fault(NodeMemory memory, std::string const& host, double weight,
                                    std::string_view cause, std::int64_t now_us);

/// Hosts to exclude, the worst first.
[[nodiscard]] std::vector<std::string> bad_hosts(NodeMemory const& memory, std::int64_t now_us);

}  // namespace osora::protocol
