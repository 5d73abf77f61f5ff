// The rules for a parallel layout, in one table for the planner, `osora validate` and the worker.
// Pure.
#pragma once

#include "plan/model/model_description.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

/// How ranks that share tokens compute attention: they exchange tokens for heads, or pass keys and
/// values on in a ring.
enum class SpKind { ulysses, ring };

/// Sizes of the four ways to divide the work.
struct Layout {
    int tp_size = 1;
    int pp_size = 1;
    int sp_size = 1;
    int dp_size = 1;
    int virtual_stages = 1;  // of each pipeline stage
    SpKind sp_kind = SpKind::ulysses;
};

/// parallel.sp_kind; `wanted` "auto": ulysses if tp_size x sp_size divides the heads, else ring.
[[nodiscard]] SpKind sp_kind_of(std::string_view wanted, int heads, int tp_size, int sp_size);
[[nodiscard]] std::string_view name_of(SpKind kind);

/// Whether the same ranks train on the same samples and share the same parts.
[[nodiscard]] bool same_cut(Layout const& a, Layout const& b);

/// Sizes of a model and its buckets that limit how it can be divided.
struct CutLimits {
    int heads = 1;
    int mlp_hidden = 1;
    int blocks = 1;           // transformer blocks that pipeline stages divide
    std::int64_t tokens = 1;  // sp_size must divide it: greatest common divisor over the buckets
};
/// `tokens_per_frame`: S of each bucket (Ulysses divides the tokens of a frame).
[[nodiscard]] CutLimits cut_limits(ModelShape const& shape,
                                   std::vector<std::int64_t> const& tokens_per_frame);

struct LayoutViolation {
    std::string rule;     // "heads % tp_size == 0"
    std::string key;      // run file key to change: "parallel.tp_size"
    std::string subject;  // "tp_size 5"
    std::string why;      // "does not divide 16 heads; nearest valid: 4, 8"
    [[nodiscard]] std::string message() const { return subject + " " + why; }
};

/// All rules that `layout` breaks on `world_size` ranks, in the order of the table; empty when the
/// layout is legal. Sizes must be >= 1.
[[nodiscard]] std::vector<LayoutViolation> layout_violations(Layout const& layout,
                                                             CutLimits const& limits,
                                                             int world_size);

/// The divisors of `total` next below and next above `wanted` (only one if `wanted` is outside
/// their range); total must be >= 1.
[[nodiscard]] std::vector<std::int64_t> nearest_divisors(std::int64_t total, std::int64_t wanted);
/// The positive multiples of `unit` next below and next above `wanted`, which is not one itself.
[[nodiscard]] std::vector<std::int64_t> nearest_multiples(std::int64_t unit, std::int64_t wanted);

}  // namespace osora::plan
