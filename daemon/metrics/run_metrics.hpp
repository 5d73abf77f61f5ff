// The metrics of a run as a fold over its events: sums of its steps beside what RunView has. The
// controller feeds it each record that it writes, so that nothing is read from disk for a request;
// a replayed journal gives the same values. Pure. docs/guide/metrics.md lists the metrics.
#pragma once

#include "daemon/metrics/open_metrics.hpp"
#include "protocol/run_view.hpp"
#include "topology/probe_result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osora::daemon {

/// What the events do not say.
struct MetricsFacts {
    std::string series;                   // run.name
    std::string model, backend, version;  // model.arch, resources.backend, of osora
};

class RunMetrics {
public:
    static constexpr int kRanksLabelled = 64;           // of more, no node has its own sample
    static constexpr std::size_t kPairsLabelled = 64;   // the slowest ones
    static constexpr std::size_t kOperationsMax = 256;  // classes of collectives

    explicit RunMetrics(MetricsFacts facts) : facts_(std::move(facts)) {}

    void take(protocol::JournalRecord const& record);

    [[nodiscard]] std::vector<MetricFamily> families() const;
    /// Of every sample: run (number), name, series.
    [[nodiscard]] MetricLabels labels() const;
    /// How many records it has taken: families() changes with it only.
    [[nodiscard]] std::uint64_t records() const { return view_.records; }

private:
    struct Sum {
        double sum = 0;
        std::int64_t count = 0;
        void add(double value, std::int64_t times = 1);
    };
    struct Pair {
        std::string from, to;
        std::int64_t size_bytes = 0;
        double bytes_per_s = 0;
    };

    void take_steps(protocol::MergedSteps const& steps, std::int64_t wall_us);
    void take_collectives(protocol::CollectiveSums const& sums);
    void take_probe(protocol::ProbePart const& part);
    void take_notice(protocol::RunNotice const& notice);
    [[nodiscard]] std::string node_name(std::size_t index) const;

    // run_metrics_families.cpp
    void add_progress(std::vector<MetricFamily>& families) const;
    void add_times(std::vector<MetricFamily>& families) const;
    void add_links(std::vector<MetricFamily>& families) const;
    void add_states(std::vector<MetricFamily>& families) const;
    [[nodiscard]] MetricFamily step_seconds() const;
    [[nodiscard]] MetricFamily node_step_seconds() const;
    [[nodiscard]] static MetricFamily summary(MetricFamily family, std::string const& label,
                                              std::map<std::string, Sum> const& sums);

    MetricsFacts facts_;
    protocol::RunView view_;
    int attempt_ = -1, next_step_ = 0;
    Sum steps_;                          // longest rank of each step
    std::map<std::string, Sum> phases_;  // of ranks, by phase
    std::map<std::string, Sum> waits_;   // of ranks for collectives, by class
    Sum alloc_retries_;                  // of ranks
    std::int64_t last_step_us_ = 0;      // since 1970; 0: none yet
    std::vector<std::string> nodes_;     // of the probe
    std::map<std::pair<int, int>, Pair> pairs_;
    std::vector<Pair> slowest_;
    bool sagging_ = false;
};

}  // namespace osora::daemon
