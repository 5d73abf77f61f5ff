#include "db/analysis/whatif/step_graph.hpp"

#include "db/analysis/whatif/p2p_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace osora::db::whatif {
namespace {

constexpr std::size_t kNoUnit = std::numeric_limits<std::size_t>::max();

class GraphBuilder {
public:
    GraphBuilder(StepOps const& ops, P2pMatch const& p2p) : ops_(ops), p2p_(p2p) {
        graph.after.resize(ops.slots.size());
        for (std::size_t slot = 0; slot < ops.slots.size(); ++slot) {
            auto const& op = ops.slots[slot];
            bool const on_stages = op.kind == OpKind::embedding_grads_all_reduce ||
                                   op.kind == OpKind::optimizer_clip_main_grad;
            if (on_stages) on_stages_[{op.kind, op.seq_id}].push_back(slot);
        }
    }

    void add_dependencies() {
        overlaps_ = std::ranges::any_of(ops_.slots, [](OpSlot const& slot) {
            return slot.kind == OpKind::separate_grads_all_reduce;
        });
        for (int stage = 0; stage < ops_.pp_size; ++stage) {
            auto const computes = in_order(ops_, stage, is_compute);
            chain({}, computes);
            add_p2p(stage, computes);
            add_data_parallel(stage, computes);
            add_end_of_step(stage, computes);
        }
    }

    /// invalid_input: a cycle.
    Result<void> add_units() {
        unit_of_.assign(ops_.slots.size(), kNoUnit);
        for (std::size_t slot = 0; slot < ops_.slots.size(); ++slot) {
            if (unit_of_[slot] == kNoUnit) add_unit(unit_with(slot));
        }
        return sort_units();
    }

    StepGraph graph;

private:
    SlotList of_kind(int stage, OpKind wanted) const {
        return in_order(ops_, stage, [wanted](OpKind kind) { return kind == wanted; });
    }

    /// Each of `chained` waits for the previous one, the first for `first`.
    void chain(SlotList first, SlotList const& chained) {
        for (auto const slot : chained) {
            auto& after = graph.after[slot];
            after.insert(after.end(), first.begin(), first.end());
            first = {slot};
        }
    }

    void add_p2p(int stage, SlotList const& computes) {
        std::map<OpKind, std::size_t> last;
        for (auto const slot : computes) {
            auto const [place, first] = last.try_emplace(ops_.slots[slot].kind, slot);
            if (!first) before_[slot] = std::exchange(place->second, slot);
        }
        for (auto const kind : {OpKind::forward_send, OpKind::forward_recv, OpKind::backward_send,
                                OpKind::backward_recv}) {
            auto const lane = of_kind(stage, kind);
            chain({}, lane);
            for (auto const slot : lane) add_transfer(slot);
        }
        auto const first_backward = std::ranges::find_if(computes, [&](std::size_t slot) {
            return ops_.slots[slot].kind == OpKind::backward_compute;
        });
        if (first_backward == computes.end() || first_backward - computes.begin() < 2) return;
        // Launched ahead: before the last forward that precedes the first backward.
        for (auto const kind : {OpKind::backward_recv, OpKind::backward_send}) {
            auto const lane = of_kind(stage, kind);
            if (!lane.empty()) graph.after[lane.front()].push_back(*(first_backward - 2));
        }
    }

    void add_transfer(std::size_t slot) {
        if (!p2p_.compute[slot]) return;
        auto const compute = *p2p_.compute[slot];
        auto const kind = ops_.slots[slot].kind;
        if (kind == OpKind::forward_send || kind == OpKind::backward_send) {
            graph.after[slot].push_back(compute);
            return;
        }
        graph.after[compute].push_back(slot);
        auto const before = before_.find(compute);
        if (before != before_.end()) graph.after[slot].push_back(before->second);
    }

    void add_data_parallel(int stage, SlotList const& computes) {
        chain({}, in_order(ops_, stage, [](OpKind kind) {
                  return kind == OpKind::params_all_gather || kind == OpKind::grads_reduce_scatter;
              }));
        std::map<int, std::size_t> gathered, reduced;  // by model chunk: the last, the first
        for (auto const slot : by_sequence(stage, OpKind::params_all_gather)) {
            gathered[ops_.slots[slot].model_chunk] = slot;
        }
        for (auto const slot : by_sequence(stage, OpKind::grads_reduce_scatter)) {
            reduced.emplace(ops_.slots[slot].model_chunk, slot);
        }
        for (auto const& [chunk, slot] : gathered) {
            auto const forward = first_forward(computes, chunk);
            if (forward) graph.after[*forward].push_back(slot);
        }
        if (!overlaps_) return;  // otherwise they follow the last backward (add_end_of_step)
        for (auto const& [chunk, slot] : reduced) {
            auto const backward = last_backward(computes, chunk);
            if (backward) graph.after[slot].push_back(*backward);
        }
    }

    SlotList by_sequence(int stage, OpKind kind) const {
        auto slots = of_kind(stage, kind);
        std::ranges::stable_sort(slots, {}, [&](auto slot) { return ops_.slots[slot].seq_id; });
        return slots;
    }

    /// Of that chunk; of any chunk if the collective does not name one.
    bool is_of(std::size_t compute, OpKind kind, int chunk) const {
        auto const& op = ops_.slots[compute];
        return op.kind == kind && (chunk < 0 || op.model_chunk == chunk);
    }
    std::optional<std::size_t> first_forward(SlotList const& computes, int chunk) const {
        for (auto const slot : computes) {
            if (is_of(slot, OpKind::forward_compute, chunk)) return slot;
        }
        return std::nullopt;
    }
    std::optional<std::size_t> last_backward(SlotList const& computes, int chunk) const {
        std::optional<std::size_t> last;
        for (auto const slot : computes) {
            if (!is_of(slot, OpKind::backward_compute, chunk)) continue;
            if (!last || ops_.slots[slot].end_s > ops_.slots[*last].end_s) last = slot;
        }
        return last;
    }

    void add_end_of_step(int stage, SlotList const& computes) {
        auto const by_end = [&](auto slot) { return ops_.slots[slot].end_s; };
        SlotList first{*std::ranges::max_element(computes, {}, by_end)};
        auto const collected = of_kind(stage, OpKind::gc);
        chain(first, collected);
        if (!collected.empty()) first = {collected.back()};
        auto const reductions = by_sequence(stage, OpKind::grads_reduce_scatter);
        SlotList end;
        auto const add = [&](SlotList const& more) {
            end.insert(end.end(), more.begin(), more.end());
        };
        add(of_kind(stage, OpKind::layernorm_grads_all_reduce));
        add(of_kind(stage, OpKind::embedding_grads_all_reduce));
        if (!overlaps_) {
            add(reductions);
        } else if (!reductions.empty()) {
            first.push_back(reductions.back());
        }
        add(of_kind(stage, OpKind::separate_grads_all_reduce));
        add(of_kind(stage, OpKind::optimizer_clip_main_grad));
        add(of_kind(stage, OpKind::optimizer));
        chain(first, end);
    }

    GraphUnit unit_with(std::size_t slot) const {
        GraphUnit unit{.slots = {slot}};
        auto const& op = ops_.slots[slot];
        switch (op.kind) {
            case OpKind::forward_send:
            case OpKind::forward_recv:
            case OpKind::backward_send:
            case OpKind::backward_recv:
                unit.transfer = true;
                if (p2p_.peer[slot]) unit.slots.push_back(*p2p_.peer[slot]);
                break;
            case OpKind::params_all_gather:
            case OpKind::grads_reduce_scatter:
            case OpKind::separate_grads_all_reduce:
                unit.transfer = unit.across_dp = true;
                break;
            case OpKind::embedding_grads_all_reduce:
                unit.transfer = true;
                unit.slots = on_stages_.at({op.kind, op.seq_id});
                break;
            case OpKind::optimizer_clip_main_grad:
                unit.transfer = unit.across_dp = true;
                unit.slots = on_stages_.at({op.kind, op.seq_id});
                break;
            default:
                break;
        }
        return unit;
    }

    void add_unit(GraphUnit unit) {
        for (auto const slot : unit.slots) unit_of_[slot] = graph.units.size();
        graph.units.push_back(std::move(unit));
    }

    Result<void> sort_units() {
        std::vector<std::set<std::size_t>> next(graph.units.size());
        std::vector<int> waits(graph.units.size(), 0);
        for (std::size_t slot = 0; slot < graph.after.size(); ++slot) {
            for (auto const before : graph.after[slot]) {
                if (next[unit_of_[before]].insert(unit_of_[slot]).second) ++waits[unit_of_[slot]];
            }
        }
        std::vector<std::size_t> order;
        for (std::size_t unit = 0; unit < waits.size(); ++unit) {
            if (waits[unit] == 0) order.push_back(unit);
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (auto const unit : next[order[i]]) {
                if (--waits[unit] == 0) order.push_back(unit);
            }
        }
        if (order.size() < graph.units.size()) return circle(waits);
        std::vector<GraphUnit> sorted;
        for (auto const unit : order) sorted.push_back(std::move(graph.units[unit]));
        graph.units = std::move(sorted);
        return {};
    }

    Result<void> circle(std::vector<int> const& waits) const {
        auto const unit = std::ranges::find_if(waits, [](int count) { return count > 0; });
        auto const& op =
            ops_.slots[graph.units[static_cast<std::size_t>(unit - waits.begin())].slots.front()];
        return Error{Errc::invalid_input,
                     fmt::format("in the order of step {}, ops wait for each other in a circle, "
                                 "among them {} {} of stage {}",
                                 ops_.steps.front(), name_of(op.kind), op.seq_id, op.stage)};
    }

    StepOps const& ops_;
    P2pMatch const& p2p_;
    bool overlaps_ = false;                                 // gradients are reduced during backward
    std::map<std::pair<OpKind, int>, SlotList> on_stages_;  // collectives over stages: kind, seq_id
    std::map<std::size_t, std::size_t> before_;  // compute op -> the one of its kind before it
    std::vector<std::size_t> unit_of_;
};

}  // namespace

Result<StepGraph> build_graph(StepOps const& ops) {
    OSORA_TRY(auto const p2p, match_p2p(ops));
    GraphBuilder builder(ops, p2p);
    builder.add_dependencies();
    OSORA_TRY_VOID(builder.add_units());
    return std::move(builder.graph);
}

}  // namespace osora::db::whatif
