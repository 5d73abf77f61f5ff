// Histories of probes whose slow nodes are known, and the error rates of drift detection; for the
// tests and for bench/changepoint.
#pragma once

#include "db/analysis/node_drift.hpp"
#include "tests/unit/db/analysis/changepoint/synthetic_series.hpp"

#include <random>
#include <vector>

namespace osora::tests {

struct ProbesSpec {
    Noise noise = Noise::gauss;  // spikes: 5 % of the scores are 1.3 to 1.7 times as low
    int nodes = 1024, probes = 20;
    double variation = 0.02;
    double drop = 0;  // of node 0, from probe `at` on
    int at = 10;
    bool storage = true;  // each probe reads storage, too
};
/// Hosts are n0, n1, ...; probe i is run i + 1, a day after the one before.
[[nodiscard]] std::vector<db::analysis::NodeScore> synthetic_probes(ProbesSpec const& spec,
                                                                    std::mt19937_64& random);

/// Shares of histories.
struct DriftRates {
    double with_false = 0;  // names a node that is as fast as ever
    double found = 0;       // names node 0
};
[[nodiscard]] DriftRates drift_rates(ProbesSpec const& spec, int repeats, std::uint64_t seed);

}  // namespace osora::tests
