// How the activations of a network are kept between forward and backward: [memory] recompute and
// activation_store of a run file. Pure; used by planner, validator and worker.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

struct MemorySection;

/// Blocks that run without a graph in forward, and again with one in backward.
struct RecomputeChoice {
    std::int64_t first_blocks = 0;  // whole blocks, counted from the first
    bool attention = false;         // in the other blocks: recompute their attention

    [[nodiscard]] bool whole(std::int64_t block) const { return block < first_blocks; }
    [[nodiscard]] static RecomputeChoice full() {
        return {std::numeric_limits<std::int64_t>::max(), false};
    }
    friend bool operator==(RecomputeChoice const&, RecomputeChoice const&) = default;
};
/// "none", "selective" (attention only), "full", or a number of blocks from 1 on.
[[nodiscard]] Result<RecomputeChoice> recompute_choice(std::string_view text);
/// The same of a text that was checked before; anything else recomputes nothing.
[[nodiscard]] RecomputeChoice checked_recompute(std::string_view text);

/// The form used in a plan (LayoutPlan).
struct ActivationChoice {
    std::string recompute = "none";
    std::string store = "none";
};
/// The allowed combinations, cheapest first on this kind of device: the values that are set; for
/// "auto", nothing before the rest. Lossy stores only with allow_lossy.
[[nodiscard]] std::vector<ActivationChoice> activation_choices(MemorySection const& memory,
                                                               bool gpu);

/// Most exact gradients that the worker compares with those of a lossy store at a time.
inline constexpr std::int64_t kCheckedGradientBytes = std::int64_t{64} << 20;

/// Whether a store changes values that are computed in `precision`.
[[nodiscard]] bool is_lossy(std::string_view store, std::string_view precision);

}  // namespace osora::plan
