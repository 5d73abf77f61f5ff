#include "protocol/steps/metric_reducer.hpp"

#include "protocol/steps/bucket_label.hpp"

#include "protocol/steps/step_figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

namespace osora::protocol {
namespace {

/// NaN counts as the greatest.
bool less(double a, double b) {
    return !std::isnan(a) && (std::isnan(b) || a < b);
}

}  // namespace

MetricReducer::MetricReducer(int attempt, int node, int first_rank, int ranks, Wait wait)
    : attempt_(attempt),
      node_(node),
      first_rank_(first_rank),
      ranks_(ranks),
      wait_(wait),
      last_steps_(static_cast<std::size_t>(ranks), -1) {}

bool MetricReducer::is_complete(int step, Row const& row) const {
    if (wait_ == Wait::all) return row.ranks == ranks_;
    return std::ranges::all_of(last_steps_, [&](int last) { return last < 0 || last >= step; });
}

void MetricReducer::add(int rank, StepMetrics const& metrics) {
    int const local_rank = rank - first_rank_;
    if (local_rank < 0 || local_rank >= ranks_ || metrics.step < next_step_) return;
    last_steps_[static_cast<std::size_t>(local_rank)] = metrics.step;
    Row& row = rows_[metrics.step];
    if (row.reported.empty()) row.reported.assign(static_cast<std::size_t>(ranks_), false);
    if (row.reported[static_cast<std::size_t>(local_rank)]) return;
    row.reported[static_cast<std::size_t>(local_rank)] = true;
    bool const first = row.ranks++ == 0;
    row.samples = sum_of_counts(row.samples, metrics.samples);
    if (first) row.bucket = metrics.bucket;
    merge_bucket(row.bucket, metrics.bucket);
    std::size_t column = 0;
    for_each_figure(metrics, [&](char const*, double value) {
        if (first) {
            row.cells.push_back({value, value, value, rank});
            return;
        }
        Cell& cell = row.cells[column++];
        cell.sum += value;
        if (less(value, cell.min)) cell.min = value;
        if (less(cell.max, value)) std::tie(cell.max, cell.argmax) = std::pair(value, rank);
    });
    if (rows_.size() > kRowsMax) drop_until(std::next(rows_.begin()));
}

std::optional<MetricChunk> MetricReducer::take(bool partial) {
    if (rows_.empty()) return std::nullopt;
    auto const may_go = [&] {
        return partial || is_complete(rows_.begin()->first, rows_.begin()->second);
    };
    int const ranks = rows_.begin()->second.ranks;
    if (!may_go()) return std::nullopt;
    MetricChunk chunk;
    chunk.attempt = attempt_;
    chunk.node = node_;
    chunk.ranks = ranks;
    chunk.step0 = rows_.begin()->first;
    next_step_ = chunk.step0;
    while (!rows_.empty() && rows_.begin()->first == next_step_ &&
           rows_.begin()->second.ranks == ranks && next_step_ - chunk.step0 < kChunkSteps &&
           may_go()) {
        append(chunk, rows_.begin()->second);
        rows_.erase(rows_.begin());
        ++next_step_;
    }
    return chunk;
}

void MetricReducer::keep_newest(std::size_t pieces) {
    if (rows_.size() <= pieces) return;
    std::size_t count = 0;
    auto from = rows_.end();
    for (auto above = from; from != rows_.begin(); above = from) {
        auto const row = std::prev(from);
        bool const goes_on = above != rows_.end() && above->first == row->first + 1 &&
                             above->second.ranks == row->second.ranks;
        if (!goes_on && ++count > pieces) break;
        from = row;
    }
    if (from == rows_.begin() || from == rows_.end()) return;
    drop_until(from);
}

void MetricReducer::drop_until(std::map<int, Row>::iterator first_kept) {
    dropped_ += static_cast<std::uint64_t>(std::distance(rows_.begin(), first_kept));
    next_step_ = first_kept->first;
    rows_.erase(rows_.begin(), first_kept);
    // The row does not wait for a rank that lags behind.
    for (int& last : last_steps_) last = last < next_step_ ? -1 : last;
}

void MetricReducer::append(MetricChunk& chunk, Row const& row) {
    chunk.bucket.push_back(row.bucket);
    chunk.samples.push_back(row.samples);
    std::size_t at = 0;
    for_each_figure(StepMetrics{}, [&](char const* name, double) {
        Cell const& cell = row.cells[at++];
        MetricColumn& column = chunk.columns[name];
        column.mean.push_back(cell.sum / row.ranks);
        column.min.push_back(cell.min);
        column.max.push_back(cell.max);
        column.argmax.push_back(cell.argmax);
    });
}

std::uint64_t MetricReducer::take_dropped() {
    return std::exchange(dropped_, 0);
}

}  // namespace osora::protocol
