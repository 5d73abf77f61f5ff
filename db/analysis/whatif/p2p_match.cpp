// Sends and receives carry no micro-batch, so they are matched by their order in time: the i-th
// receive feeds the i-th compute op, the i-th send drains it, the i-th send of a stage is the i-th
// receive of its neighbour.
#include "db/analysis/whatif/p2p_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace osora::db::whatif {
namespace {

constexpr double kOrderError_s = 5e-5;  // starts and ends of neighbouring ops may overlap by this

/// One of the four lanes of sends and receives of a stage.
struct Lane {
    OpKind kind, compute, peer;
    bool sends;
    int direction;  // direction to the other side: +1 the next stage
};
constexpr std::array<Lane, 4> kLanes{
    {{OpKind::forward_send, OpKind::forward_compute, OpKind::forward_recv, true, 1},
     {OpKind::forward_recv, OpKind::forward_compute, OpKind::forward_send, false, -1},
     {OpKind::backward_send, OpKind::backward_compute, OpKind::backward_recv, true, -1},
     {OpKind::backward_recv, OpKind::backward_compute, OpKind::backward_send, false, 1}}};

/// Receives that start after the last compute op, and sends that end before the first one, move
/// nothing, but profilers record them.
SlotList moving(StepOps const& ops, SlotList const& transfers, SlotList const& computes,
                bool sends) {
    double last_start = -std::numeric_limits<double>::infinity();
    double first_end = std::numeric_limits<double>::infinity();
    for (auto const slot : computes) {
        last_start = std::max(last_start, ops.slots[slot].start_s);
        first_end = std::min(first_end, ops.slots[slot].end_s);
    }
    SlotList kept;
    for (auto const slot : transfers) {
        bool const moves = sends ? ops.slots[slot].end_s >= first_end - kOrderError_s
                                 : ops.slots[slot].start_s <= last_start + kOrderError_s;
        if (moves) kept.push_back(slot);
    }
    return kept;
}

class Matcher {
public:
    explicit Matcher(StepOps const& ops) : ops_(ops) {
        match.compute.resize(ops.slots.size());
        match.peer.resize(ops.slots.size());
        for (auto const& slot : ops.slots) chunks_ = std::max(chunks_, slot.model_chunk + 1);
    }

    Result<void> add(int stage, Lane const& lane) {
        auto const of_kind = [&](OpKind wanted) {
            return in_order(ops_, stage, [wanted](OpKind kind) { return kind == wanted; });
        };
        auto const computes = of_kind(lane.compute);
        auto const transfers = moving(ops_, of_kind(lane.kind), computes, lane.sends);
        bool const at_end = stage == 0 || stage == ops_.pp_size - 1;
        // With model chunks the first receive of the first stage may be missing.
        bool const one_less = transfers.size() + 1 == computes.size();
        bool const fits =
            transfers.size() == computes.size() || (at_end && (transfers.empty() || one_less));
        if (!fits) {
            return Error{Errc::invalid_input,
                         fmt::format("stage {} has {} {} for {} {}", stage, transfers.size(),
                                     name_of(lane.kind), computes.size(), name_of(lane.compute))};
        }
        std::size_t const skipped = one_less && !lane.sends ? 1 : 0;
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            auto const compute = computes[i + skipped];
            match.compute[transfers[i]] = compute;
            if (reaches_a_chunk(ops_.slots[compute], lane.direction)) {
                lanes_[{lane.kind, stage}].push_back(transfers[i]);
            }
        }
        return {};
    }

    Result<void> pair_up() {
        for (auto const& lane : kLanes) {
            for (int stage = 0; stage < ops_.pp_size; ++stage) {
                int const other = (stage + lane.direction + ops_.pp_size) % ops_.pp_size;
                auto const& mine = lanes_[{lane.kind, stage}];
                auto const& theirs = lanes_[{lane.peer, other}];
                if (mine.size() != theirs.size()) {
                    return Error{
                        Errc::invalid_input,
                        fmt::format("stage {} has {} {}, stage {} has {} {}", stage, mine.size(),
                                    name_of(lane.kind), other, theirs.size(), name_of(lane.peer))};
                }
                for (std::size_t i = 0; i < mine.size(); ++i) match.peer[mine[i]] = theirs[i];
            }
        }
        return {};
    }

    P2pMatch match;

private:
    /// Is there a model chunk on the other side? Chunks of the model cycle through the stages.
    bool reaches_a_chunk(OpSlot const& compute, int direction) const {
        int const chunk = std::max(compute.model_chunk, 0) * ops_.pp_size + compute.stage;
        return chunk + direction >= 0 && chunk + direction < chunks_ * ops_.pp_size;
    }

    StepOps const& ops_;
    int chunks_ = 1;                                    // of a stage
    std::map<std::pair<OpKind, int>, SlotList> lanes_;  // that move something
};

}  // namespace

SlotList in_order(StepOps const& ops, int stage, std::function<bool(OpKind)> const& wanted) {
    SlotList found;
    auto const of_stage = std::ranges::equal_range(ops.slots, stage, {}, &OpSlot::stage);
    for (auto const& op : of_stage) {
        if (wanted(op.kind)) found.push_back(static_cast<std::size_t>(&op - ops.slots.data()));
    }
    std::ranges::sort(found, {}, [&](std::size_t slot) {
        auto const& op = ops.slots[slot];
        return std::tuple(op.start_s, op.seq_id, name_of(op.kind));
    });
    return found;
}

Result<P2pMatch> match_p2p(StepOps const& ops) {
    Matcher matcher(ops);
    for (int stage = 0; stage < ops.pp_size; ++stage) {
        for (auto const& lane : kLanes) OSORA_TRY_VOID(matcher.add(stage, lane));
    }
    OSORA_TRY_VOID(matcher.pair_up());
    return std::move(matcher.match);
}

}  // namespace osora::db::whatif
