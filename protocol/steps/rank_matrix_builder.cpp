#include "protocol/steps/rank_matrix_builder.hpp"

#include "protocol/steps/matrix_codec.hpp"
#include "protocol/steps/step_figures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace osora::protocol {
namespace {

/// Calls f(name, value) for each figure in seconds.
template <class F>
void for_each_time(StepMetrics const& metrics, F f) {
    for_each_figure(metrics, [&](char const* name, double value) {
        if (std::string_view(name).ends_with("_s")) f(name, static_cast<float>(value));
    });
}

}  // namespace

RankMatrixBuilder::RankMatrixBuilder(int attempt, int node, int first_rank, int ranks)
    : attempt_(attempt), node_(node), first_rank_(first_rank), ranks_(ranks) {}

void RankMatrixBuilder::add(int rank, StepMetrics const& metrics) {
    int const local_rank = rank - first_rank_;
    int const number = metrics.step / kBlockSteps;
    if (local_rank < 0 || local_rank >= ranks_ || metrics.step < 0 || number < next_block_) return;
    int const step = metrics.step % kBlockSteps;
    Block& block = blocks_[number];
    auto const ranks = static_cast<std::size_t>(ranks_);
    auto const at = static_cast<std::size_t>(step) * ranks + static_cast<std::size_t>(local_rank);
    bool is_new = true;
    for_each_time(metrics, [&](char const* name, float value) {
        Rows& rows = block.figures[name];
        if (rows.empty()) rows.assign(kBlockSteps * ranks, std::numeric_limits<float>::quiet_NaN());
        is_new = is_new && std::isnan(rows[at]);
        if (is_new) rows[at] = value;
    });
    if (is_new) ++block.cells;
    block.first = std::min(block.first, step);
    block.last = std::max(block.last, step);
    if (blocks_.size() <= kBlocksMax) return;
    auto const& oldest = *blocks_.begin();
    next_block_ = oldest.first + 1;
    dropped_ += static_cast<std::uint64_t>(oldest.second.last - oldest.second.first + 1);
    blocks_.erase(blocks_.begin());
}

std::optional<RankMatrix> RankMatrixBuilder::take(bool partial) {
    if (blocks_.empty()) return std::nullopt;
    auto const& [number, block] = *blocks_.begin();
    bool const full = block.cells == static_cast<std::size_t>(kBlockSteps * ranks_);
    if (!partial && !full && blocks_.rbegin()->first < number + 2) return std::nullopt;
    RankMatrix matrix = matrix_of(number, block);
    next_block_ = number + 1;
    blocks_.erase(blocks_.begin());
    return matrix;
}

RankMatrix RankMatrixBuilder::matrix_of(int number, Block const& block) const {
    RankMatrix matrix;
    matrix.attempt = attempt_;
    matrix.node = node_;
    matrix.first_rank = first_rank_;
    matrix.ranks = ranks_;
    matrix.step0 = number * kBlockSteps + block.first;
    matrix.steps = block.last - block.first + 1;
    auto const ranks = static_cast<std::size_t>(ranks_);
    for (auto const& [name, rows] : block.figures) {
        auto const values = std::span(rows).subspan(static_cast<std::size_t>(block.first) * ranks,
                                                    static_cast<std::size_t>(matrix.steps) * ranks);
        matrix.figures[name].value = encode_matrix(values, ranks);
    }
    return matrix;
}

std::uint64_t RankMatrixBuilder::take_dropped() {
    return std::exchange(dropped_, 0);
}

}  // namespace osora::protocol
