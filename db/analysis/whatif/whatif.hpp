// How much of a traced step is straggling, and which op type, stage or worker causes it: the
// figures of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25).
// Pure.
#pragma once

#include "db/analysis/whatif/job_shape.hpp"
#include "db/analysis/whatif/op_trace.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::db::whatif {

/// A worker is the ranks of one stage and dp rank.
struct Worker {
    int dp_rank = 0, stage = 0;
    double slowdown = 1;  // the smaller one of its stage's and its dp rank's (S_w, equation 4)
};

struct StepSlowdown {
    std::int64_t step = 0;
    double actual_s = 0;    // from the first start to the last end in the trace
    double no_delay_s = 0;  // replayed: ops start as soon as the ops that they wait for have ended
    double slowdown = 1;    // no_delay_s over the ideal step
};

/// How much idealising some ops reduces the straggling: removed (from the actual step) and added
/// (to the ideal step), both as a share of T_nodelay - T_ideal. NaN: nothing straggles.
struct Share {
    double removed = 0, added = 0;
};

enum class Holder { none, worker, last_stage, op_type, spread };

struct WhatIf {
    JobShape shape;
    int dp_size = 1, pp_size = 1;  // as traced
    double actual_s = 0;           // means over the steps
    double no_delay_s = 0;         // T_nodelay
    double ideal_s = 0;            // T_ideal: every op takes the typical time of its type
    double slowdown = 1;           // S = T_nodelay / T_ideal (equation 1)
    /// The ideal step with the actual times of these ops, over the ideal step (equation 2).
    std::map<std::string, double> slowdown_of_type;
    std::vector<double> slowdown_of_stage, slowdown_of_dp_rank;  // by index
    std::vector<Worker> workers;                                 // slowest first
    int worst_workers = 1;                                       // 3 % of them, rounded up
    Share of_last_stage;                                         // removed: M_S
    Share of_worst_workers;                                      // removed: M_W (equation 5)
    std::vector<StepSlowdown> steps;
    std::vector<std::int64_t> steps_left_out;
    int rows_unreadable = 0;
    std::string first_fault;  // of the rows
    std::map<std::string, int, std::less<>> unknown_ops;

    Holder holder = Holder::none;
    std::string held_by;  // "stage 3, the last one"; "" for none
};

/// A step straggles if it is longer than the ideal one by this factor (the paper's threshold); what
/// accounts for half of that is named.
constexpr double kStraggling = 1.1;
constexpr double kHolds = 0.5;

/// `csv`: as for read_op_trace. invalid_input also if its steps do not form a graph.
[[nodiscard]] Result<WhatIf> what_if(std::string_view csv, JobShape const& shape);

}  // namespace osora::db::whatif
