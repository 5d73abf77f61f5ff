// Replays a step unit by unit, all its dp ranks side by side; only collectives over dp ranks
// connect the ranks of a step.
#include "db/analysis/whatif/replay.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace osora::db::whatif {
namespace {

constexpr std::size_t kTypicalLane = std::numeric_limits<std::size_t>::max();

}  // namespace

Replay::Replay(StepOps const& ops, StepGraph const& graph)
    : ops_(ops), graph_(graph), taken_s_(ops.duration_s) {
    measure_transfers();
    find_typical();
}

void Replay::measure_transfers() {
    std::size_t const lanes = ops_.lanes();
    auto const dp_size = static_cast<std::size_t>(ops_.dp_size);
    std::vector<double> last(lanes);
    for (auto const& unit : graph_.units) {
        if (!unit.transfer) continue;
        std::ranges::fill(last, -std::numeric_limits<double>::infinity());
        for (auto const slot : unit.slots) {
            for (std::size_t i = 0; i < lanes; ++i) {
                last[i] = std::max(last[i], ops_.start_s[slot * lanes + i]);
            }
        }
        for (std::size_t i = 0; unit.across_dp && i < lanes; i += dp_size) {
            auto const step = last.begin() + static_cast<std::ptrdiff_t>(i);
            std::fill_n(step, dp_size, *std::max_element(step, step + ops_.dp_size));
        }
        for (auto const slot : unit.slots) {
            for (std::size_t i = 0; i < lanes; ++i) {
                std::size_t const at = slot * lanes + i;
                double const transfer_s = ops_.start_s[at] + ops_.duration_s[at] - last[i];
                taken_s_[at] = transfer_s <= -kClockError_s ? 0 : transfer_s;
            }
        }
    }
}

void Replay::find_typical() {
    std::array<std::vector<double>, kOpKinds> times;
    for (std::size_t slot = 0; slot < ops_.slots.size(); ++slot) {
        auto const begin = taken_s_.begin() + static_cast<std::ptrdiff_t>(slot * ops_.lanes());
        auto& of_kind = times[static_cast<std::size_t>(ops_.slots[slot].kind)];
        of_kind.insert(of_kind.end(), begin, begin + static_cast<std::ptrdiff_t>(ops_.lanes()));
    }
    std::array<double, kOpKinds> typical{};
    for (std::size_t kind = 0; kind < times.size(); ++kind) {
        if (times[kind].empty()) continue;
        typical[kind] = is_communication(static_cast<OpKind>(kind)) ? median(std::move(times[kind]))
                                                                    : mean(times[kind]);
    }
    for (auto const& slot : ops_.slots) {
        typical_s_.push_back(typical[static_cast<std::size_t>(slot.kind)]);
    }
}

double Replay::step_s(std::vector<std::size_t> const& lanes, std::vector<char> const& keep) const {
    std::size_t const ranks = lanes.size();
    std::vector<double> end(ops_.slots.size() * ranks), start(ranks);
    double step_end = 0;
    for (auto const& unit : graph_.units) {
        std::ranges::fill(start, 0.0);
        for (auto const slot : unit.slots) {
            for (auto const before : graph_.after[slot]) {
                for (std::size_t rank = 0; rank < ranks; ++rank) {
                    start[rank] = std::max(start[rank], end[before * ranks + rank]);
                }
            }
        }
        if (unit.across_dp) std::ranges::fill(start, *std::ranges::max_element(start));
        for (auto const slot : unit.slots) {
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                std::size_t const at = slot * ranks + rank;
                bool const own = keep[at] != 0 && lanes[rank] != kTypicalLane;
                end[at] = start[rank] +
                          (own ? taken_s_[slot * ops_.lanes() + lanes[rank]] : typical_s_[slot]);
                step_end = std::max(step_end, end[at]);
            }
        }
    }
    return step_end;
}

std::vector<double> Replay::step_times(Keeps const& keeps) const {
    auto const dp_size = static_cast<std::size_t>(ops_.dp_size);
    std::vector<char> keep;
    for (auto const& slot : ops_.slots) {
        for (int rank = 0; rank < ops_.dp_size; ++rank) keep.push_back(keeps(slot, rank) ? 1 : 0);
    }
    std::vector<double> times;
    std::vector<std::size_t> lanes(dp_size);
    for (std::size_t step = 0; step < ops_.steps.size(); ++step) {
        std::iota(lanes.begin(), lanes.end(), step * dp_size);
        times.push_back(step_s(lanes, keep));
    }
    return times;
}

double Replay::mean_step_s(Keeps const& keeps) const {
    return mean(step_times(keeps));
}

double Replay::mean_step_of_rank_s(int dp_rank) const {
    std::vector<std::size_t> lanes(ops_.dp_size > 1 ? 2 : 1, kTypicalLane);
    std::vector<char> const keep(ops_.slots.size() * lanes.size(), 1);
    std::vector<double> times;
    for (std::size_t step = 0; step < ops_.steps.size(); ++step) {
        lanes[0] =
            step * static_cast<std::size_t>(ops_.dp_size) + static_cast<std::size_t>(dp_rank);
        times.push_back(step_s(lanes, keep));
    }
    return mean(times);
}

}  // namespace osora::db::whatif
