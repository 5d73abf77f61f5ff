// Steps and summaries are both read in key order, so a column is filled by merging two ascending
// lists.
#include "db/store/step_store.hpp"

#include "db/store/described_row.hpp"
#include "db/store/thinning.hpp"

#include <algorithm>

namespace osora::db {
namespace {

void load_rows(Connection& connection, std::int64_t run_id, StepTable& into) {
    auto& row = bind(connection.prepared("SELECT step,attempt,ranks,samples,repeated,bucket FROM "
                                         "step WHERE run_id=?1 ORDER BY step"),
                     run_id);
    while (row.executeStep()) {
        int column = 0;
        for (auto* values :
             {&into.step, &into.attempt, &into.ranks, &into.samples, &into.repeated}) {
            values->push_back(row.getColumn(column++).getInt());
        }
        auto const bucket = row.getColumn(column).getString();
        auto const known = std::ranges::find(into.buckets, bucket);
        into.bucket.push_back(static_cast<int>(known - into.buckets.begin()));
        if (known == into.buckets.end()) into.buckets.push_back(bucket);
    }
}

void load_column(Connection& connection, std::int64_t run_id, std::int64_t metric,
                 StepTable const& steps, StepColumn& into) {
    for (auto* values : {&into.mean, &into.min, &into.max}) values->resize(steps.size(), kUnknown);
    into.argmax.resize(steps.size(), -1);
    auto& row = bind(connection.prepared("SELECT step,mean,vmin,vmax,argmax FROM step_summary "
                                         "WHERE run_id=?1 AND metric_id=?2 ORDER BY step"),
                     run_id, metric);
    std::size_t i = 0;
    while (row.executeStep()) {
        int const step = row.getColumn(0).getInt();
        while (i < steps.size() && steps.step[i] < step) ++i;
        if (i == steps.size()) break;
        into.mean[i] = real_or_nan(row.getColumn(1));
        into.min[i] = real_or_nan(row.getColumn(2));
        into.max[i] = real_or_nan(row.getColumn(3));
        into.argmax[i] = row.getColumn(4).isNull() ? -1 : row.getColumn(4).getInt();
    }
    row.reset();
}

/// A step that is left of a thinned range stands for those up to the next one.
void load_weights(Connection& connection, std::int64_t run_id, StepTable& into) {
    auto const ranges = thinned_ranges(connection, run_id);
    if (ranges.empty()) return;
    into.stands_for.assign(into.size(), 1);
    for (auto const& range : ranges) {
        for (std::size_t i = 0; i < into.size(); ++i) {
            int const step = into.step[i];
            if (step < range.start || step >= range.stop) continue;
            into.stands_for[i] = std::min(kThinKeepEvery, range.stop - step);
        }
    }
}

}  // namespace

StepTable load_steps(Connection& connection, std::int64_t run_id,
                     std::span<std::string_view const> metrics) {
    StepTable steps;
    load_rows(connection, run_id, steps);
    load_weights(connection, run_id, steps);
    for (auto const metric : metrics) {
        auto const id = select_integer(connection,
                                       "SELECT metric_id FROM metric m WHERE name=?1 AND EXISTS("
                                       "SELECT 1 FROM step_summary s WHERE s.run_id=?2 AND "
                                       "s.metric_id=m.metric_id)",
                                       metric, run_id);
        if (id) load_column(connection, run_id, *id, steps, steps.columns[std::string(metric)]);
    }
    return steps;
}

std::vector<analysis::RankBlock> load_blocks(Connection& connection, std::int64_t run_id,
                                             std::string_view metric) {
    std::vector<analysis::RankBlock> blocks;
    auto& row =
        db::bind(connection.prepared("SELECT first_rank,ranks,steps,data,attempt,step0 FROM "
                                     "rank_matrix JOIN metric USING(metric_id) WHERE "
                                     "run_id=?1 AND name=?2 ORDER BY sequence DESC"),
                 run_id, metric);
    std::int64_t bytes = 0;
    while (bytes < kBlockBytes && row.executeStep()) {
        auto const data = row.getColumn(3);
        blocks.push_back({row.getColumn(0).getInt(), row.getColumn(1).getInt(),
                          row.getColumn(2).getInt(), data.getString(), row.getColumn(4).getInt(),
                          row.getColumn(5).getInt()});
        bytes += data.getBytes();
    }
    row.reset();
    return blocks;
}

void save_measured(Connection& connection, std::int64_t run_id, analysis::Measured const& m) {
    execute(connection, "DELETE FROM measured WHERE run_id=?1", run_id);
    execute(connection, "DELETE FROM measured_bucket WHERE run_id=?1", run_id);
    insert_row(connection, "measured", RunKey{run_id}, m);
    for (auto const& bucket : m.buckets) {
        insert_row(connection, "measured_bucket", RunKey{run_id}, bucket);
    }
}

std::optional<analysis::Measured> load_measured(Connection& connection, std::int64_t run_id) {
    auto& row = bind(connection.prepared("SELECT * FROM measured WHERE run_id=?1"), run_id);
    analysis::Measured m;
    if (!read_row(row, m)) return std::nullopt;
    row.reset();
    auto& bucket_row =
        bind(connection.prepared("SELECT * FROM measured_bucket WHERE run_id=?1"), run_id);
    for (analysis::BucketMeasure each; read_row(bucket_row, each);) m.buckets.push_back(each);
    return m;
}

}  // namespace osora::db
