// A training step taken apart into seconds that add up to its time. Pure.
//
// step = compute + imbalance + slower_rank + wait_data + wait_network + transfer + loader + host +
// residual, each a mean over the ranks. Communication that is exposed on every rank, the minimum
// over the ranks, is transfer; what the others are blocked beyond that is waiting (TraceLens' rule:
// the rank that waits least arrived last). Waiting is explained by the latest rank's arrival after
// the mean rank's: by its wait for data, then by its own work. What arrival does not explain is
// left to the network. Without times of arrival all of it is put down to the ranks.
#pragma once

#include "db/record/run_record.hpp"

#include <array>
#include <vector>

namespace osora::db::analysis {

enum class Part {
    compute,       // forward + backward + optimizer
    imbalance,     // waiting for ranks that train another bucket in the same step
    slower_rank,   // waiting for a rank whose own work takes longer
    wait_data,     // waiting for a rank that waits for data
    wait_network,  // waiting that arrival times do not explain
    transfer,      // communication that no rank overlaps with its work
    loader,        // waiting for data
    host,          // the rest that was measured: checkpoint, log, host
    residual       // what the parts do not explain
};
constexpr std::size_t kParts = 9;

struct StepParts {
    int bucket = 0;     // index into StepTable::buckets
    double weight = 1;  // StepTable::weight()
    double step_s = 0;
    std::array<double, kParts> s{};  // by Part
    double work_s = 0;               // of compute: forward and backward, which grow with samples
    double samples_per_rank = 0;

    [[nodiscard]] double operator[](Part part) const { return s[static_cast<std::size_t>(part)]; }
};

/// Of the steps that count (select_steps), except steps without a time.
[[nodiscard]] std::vector<StepParts> step_parts(StepTable const& steps);

/// Mean |residual| over the mean step. From kUnattributable on the parts explain too little.
[[nodiscard]] double residual_share(std::vector<StepParts> const& steps);
constexpr double kUnattributable = 0.01;

}  // namespace osora::db::analysis
