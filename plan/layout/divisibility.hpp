// The rules that a parallel layout must meet, in one table: the planner, `osora validate` and the
// worker all read it. Pure.
#pragma once

#include "plan/model/model_description.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

/// Sizes of the four ways to divide the work.
struct Layout {
    int tp_size = 1;
    int pp_size = 1;
    int sp_size = 1;
    int dp_size = 1;
    int virtual_stages = 1;  // of each pipeline stage
};

/// Whether the same ranks train on the same samples, and share the same.
[[nodiscard]] bool same_cut(Layout const& a, Layout const& b);

/// What of a model and its buckets limits how it can be cut.
struct CutLimits {
    int heads = 1;
    int mlp_hidden = 1;
    int blocks = 1;           // transformer blocks that pipeline stages divide
    std::int64_t tokens = 1;  // that sp_size divides: greatest common divisor over the buckets
};
/// `tokens_per_frame`: S of each bucket (Ulysses cuts the tokens of a frame).
[[nodiscard]] CutLimits cut_limits(ModelShape const& shape,
                                   std::vector<std::int64_t> const& tokens_per_frame);

struct LayoutViolation {
    std::string rule;     // "heads % tp_size == 0"
    std::string key;      // of the run file that a user would change: "parallel.tp_size"
    std::string subject;  // "tp_size 5"
    std::string why;      // "does not divide 16 heads; nearest valid: 4, 8"
    [[nodiscard]] std::string message() const { return subject + " " + why; }
};

/// Every rule that `layout` breaks on `world_size` ranks, in the order of the table; empty when
/// the layout is legal. Sizes are >= 1.
[[nodiscard]] std::vector<LayoutViolation> layout_violations(Layout const& layout,
                                                             CutLimits const& limits,
                                                             int world_size);

/// The divisors of `total` next below and next above `wanted` (only one when `wanted` lies outside
/// them); total >= 1.
[[nodiscard]] std::vector<std::int64_t> nearest_divisors(std::int64_t total, std::int64_t wanted);
/// The positive multiples of `unit` next below and next above `wanted`, which is none itself.
[[nodiscard]] std::vector<std::int64_t> nearest_multiples(std::int64_t unit, std::int64_t wanted);

}  // namespace osora::plan
