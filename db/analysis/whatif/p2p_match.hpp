// Private to db/analysis/whatif: which send belongs to which receive, and which compute op each of
// them drains or feeds. Pure.
#pragma once

#include "db/analysis/whatif/step_ops.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace osora::db::whatif {

using SlotList = std::vector<std::size_t>;

struct P2pMatch {
    /// By slot: the compute op before a send or after a receive; nullopt: an op recorded before the
    /// first or after the last micro-batch, which moved nothing.
    std::vector<std::optional<std::size_t>> compute;
    /// By slot: the other side; nullopt also at the ends of the model, where nothing is moved.
    std::vector<std::optional<std::size_t>> peer;
};

/// invalid_input: a stage in the middle lacks ops, or two sides do not match.
[[nodiscard]] Result<P2pMatch> match_p2p(StepOps const& ops);

/// Slots of a stage whose kind is `wanted`, by start, then seq_id, then name.
[[nodiscard]] SlotList in_order(StepOps const& ops, int stage,
                                std::function<bool(OpKind)> const& wanted);

}  // namespace osora::db::whatif
