#include "daemon/steps/step_merger.hpp"

#include "protocol/steps/bucket_label.hpp"
#include "protocol/steps/step_figures.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace osora::daemon {

using namespace protocol;

void StepMerger::begin(int attempt) {
    attempt_ = attempt;
    names_.clear();
    rows_.clear();
    nodes_.clear();
    nodes_at_.clear();
}

void StepMerger::add(MetricChunk const& chunk, int first, MonotonicTime now) {
    auto const from = static_cast<std::size_t>(std::max(0, first - chunk.step0));
    for (std::size_t i = from; i < chunk.bucket.size(); ++i) {
        Row& row = rows_[chunk.step0 + static_cast<int>(i)];
        if (row.ranks == 0) row.since = now;
        row.ranks = sum_of_counts(row.ranks, chunk.ranks);
        row.samples = sum_of_counts(row.samples, chunk.samples[i]);
        merge_bucket(row.bucket, chunk.bucket[i]);
    }
    for (auto const& [name, column] : chunk.columns) {
        if (names_.size() == kFiguresMax && !names_.contains(name)) continue;
        std::size_t const number = names_.try_emplace(name, names_.size()).first->second;
        for (std::size_t i = from; i < chunk.bucket.size(); ++i) {
            auto& figures = rows_[chunk.step0 + static_cast<int>(i)].figures;
            if (figures.size() <= number) figures.resize(number + 1);
            figures[number].merge(
                {chunk.ranks, column.mean[i], column.min[i], column.max[i], column.argmax[i]});
        }
    }
    auto const [known, is_new] = nodes_.try_emplace(chunk.node);
    NodeReport& newest = known->second.newest;
    if (!is_new && --nodes_at_[newest.next_step] == 0) nodes_at_.erase(newest.next_step);
    newest = node_report_of(chunk, ranks_per_node_);
    ++nodes_at_[newest.next_step];
}

int StepMerger::reported_by_all() const {
    return nodes_at_.empty() ? 0 : nodes_at_.begin()->first;
}

std::vector<MergedSteps> StepMerger::take(bool partial) {
    std::vector<MergedSteps> records;
    int const stop = partial ? std::numeric_limits<int>::max() : reported_by_all();
    while (!rows_.empty() && rows_.begin()->first < stop) records.push_back(take_record(stop));
    return records;
}

/// Consecutive steps below `stop`, from the oldest on.
MergedSteps StepMerger::take_record(int stop) {
    MergedSteps record;
    record.attempt = attempt_;
    record.step0 = rows_.begin()->first;
    int end = record.step0;
    while (!rows_.empty() && rows_.begin()->first == end && end < stop &&
           end - record.step0 < kRecordSteps) {
        append(record, rows_.begin()->second);
        rows_.erase(rows_.begin());
        ++end;
    }
    // Drop figures that none of these steps has, and counts that equal those of all ranks.
    for (auto const& [name, number] : names_) {
        auto const reports = record.reported_by.find(name);
        bool const nobody = std::ranges::count(reports->second, 0) == std::ssize(reports->second);
        if (nobody) record.columns.erase(name);
        if (nobody || reports->second == record.ranks) record.reported_by.erase(reports);
    }
    put_nodes(record, nodes_up_to(end));
    return record;
}

void StepMerger::append(MergedSteps& record, Row const& row) const {
    record.ranks.push_back(row.ranks);
    record.samples.push_back(row.samples);
    record.bucket.push_back(row.bucket);
    double const none = std::nan("");
    for (auto const& [name, number] : names_) {
        FigureSummary figure{0, none, none, none, -1};
        if (number < row.figures.size() && row.figures[number].n > 0) figure = row.figures[number];
        MetricColumn& column = record.columns[name];
        column.mean.push_back(figure.mean);
        column.min.push_back(figure.min);
        column.max.push_back(figure.max);
        column.argmax.push_back(figure.argmax);
        record.reported_by[name].push_back(static_cast<int>(figure.n));
    }
}

/// Nodes that have reported more since the last record that ended before `end`.
std::vector<NodeReport> StepMerger::nodes_up_to(int end) {
    std::vector<NodeReport> reports;
    for (auto& [number, node] : nodes_) {
        int const next_step = std::min(node.newest.next_step, end);
        if (next_step <= node.taken_to) continue;
        node.taken_to = next_step;
        reports.push_back(node.newest);
        reports.back().next_step = next_step;
    }
    return reports;
}

int StepMerger::taken_to(int node) const {
    auto const found = nodes_.find(node);
    return found != nodes_.end() ? found->second.taken_to : 0;
}

MonotonicTime StepMerger::oldest() const {
    MonotonicTime oldest = kNever;
    for (auto const& [step, row] : rows_) oldest = std::min(oldest, row.since);
    return oldest;
}

}  // namespace osora::daemon
