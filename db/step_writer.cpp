// Most steps are new and in order, and take one insert each; only steps at or below last_step_ are
// looked up first.
#include "db/step_writer.hpp"

#include "protocol/bucket_label.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace osora::db {
namespace {

Result<void> check_shape(protocol::MetricChunk const& chunk) {
    auto const steps = chunk.bucket.size();
    bool good = chunk.samples.size() == steps && chunk.ranks > 0 && chunk.step0 >= 0;
    for (auto const& [name, column] : chunk.columns) {
        good = good && column.mean.size() == steps && column.min.size() == steps &&
               column.max.size() == steps && column.argmax.size() == steps;
    }
    if (good) return {};
    return Error{Errc::invalid_input,
                 fmt::format("metric chunk of node {} from step {}: its columns differ in length",
                             chunk.node, chunk.step0)};
}

std::string unit_of(std::string const& metric) {
    if (metric.ends_with("_s")) return "s";
    if (metric.ends_with("_bytes")) return "bytes";
    return "1";
}

// n-weighted mean. NULL stands for NaN and counts as the greatest value (as in the agents'
// reducer), so argmax names a rank that has it; of equal maxima the lowest rank is named.
constexpr char const* kMerge =
    "INSERT INTO step_summary VALUES(?1,?2,?3,?4,?5,?6,?7,?8) "
    "ON CONFLICT(run_id,metric_id,step) DO UPDATE SET "
    "mean=(mean*n+excluded.mean*excluded.n)/(n+excluded.n), n=n+excluded.n, "
    "vmin=CASE WHEN vmin IS NULL OR excluded.vmin<vmin THEN coalesce(excluded.vmin,vmin) "
    "ELSE vmin END, "
    "argmax=CASE WHEN vmax IS excluded.vmax THEN min(argmax,excluded.argmax) "
    "WHEN vmax NOT NULL AND (excluded.vmax IS NULL OR excluded.vmax>vmax) THEN excluded.argmax "
    "ELSE argmax END, "
    "vmax=CASE WHEN vmax IS NULL OR excluded.vmax IS NULL THEN NULL "
    "WHEN excluded.vmax>vmax THEN excluded.vmax ELSE vmax END";
constexpr char const* kInsert = "INSERT INTO step_summary VALUES(?1,?2,?3,?4,?5,?6,?7,?8)";

}  // namespace

StepWriter::StepWriter(Connection& connection, std::int64_t run_id)
    : connection_(connection), run_id_(run_id) {
    last_step_ = select_integer(connection, "SELECT max(step) FROM step WHERE run_id=?1", run_id)
                     .value_or(-1);
    auto& nodes = bind(connection.prepared("SELECT node,metric_epoch,metric_step FROM run_node "
                                           "WHERE run_id=?1"),
                       run_id);
    while (nodes.executeStep()) {
        positions_[nodes.getColumn(0).getInt()] = {nodes.getColumn(1).getInt(),
                                                   nodes.getColumn(2).getInt()};
    }
}

Result<void> StepWriter::add(protocol::MetricChunk const& chunk) {
    OSORA_TRY_VOID(check_shape(chunk));
    auto& read = position(chunk.node);
    if (chunk.epoch < read.epoch) return {};
    if (chunk.epoch > read.epoch) read = {chunk.epoch, 0};
    for (std::size_t i = 0; i < chunk.bucket.size(); ++i) {
        int const step = chunk.step0 + static_cast<int>(i);
        if (step < read.next_step) continue;
        auto const row = add_step(chunk, i);
        if (row != Row::stale) add_values(chunk, i, row);
        read.next_step = step + 1;
    }
    return {};
}

void StepWriter::add(protocol::RankMatrix const& matrix, std::uint64_t sequence) {
    for (auto const& [name, data] : matrix.figures) {
        execute(connection_, "INSERT INTO rank_matrix VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
                run_id_, metric_id(name), sequence, matrix.epoch, matrix.step0, matrix.steps,
                matrix.node, matrix.first_rank, matrix.ranks, std::as_bytes(std::span(data.value)));
    }
}

StepWriter::Row StepWriter::add_step(protocol::MetricChunk const& chunk, std::size_t index) {
    int const step = chunk.step0 + static_cast<int>(index);
    std::optional<std::int64_t> epoch;
    if (step <= last_step_) {
        epoch = select_integer(connection_, "SELECT epoch FROM step WHERE run_id=?1 AND step=?2",
                               run_id_, step);
    }
    last_step_ = std::max<std::int64_t>(last_step_, step);
    if (!epoch) {
        execute(connection_, "INSERT INTO step VALUES(?1,?2,?3,?4,?5,?6,0)", run_id_, step,
                chunk.epoch, chunk.ranks, chunk.samples[index], chunk.bucket[index]);
        return Row::fresh;
    }
    if (*epoch > chunk.epoch) return Row::stale;
    if (*epoch == chunk.epoch) {
        execute(connection_,
                "UPDATE step SET ranks=ranks+?3,samples=samples+?4 WHERE run_id=?1 AND step=?2",
                run_id_, step, chunk.ranks, chunk.samples[index]);
        merge_bucket_of(step, chunk.bucket[index]);
        return Row::merged;
    }
    execute(connection_,
            "UPDATE step SET epoch=?3,ranks=?4,samples=?5,bucket=?6,repeated=repeated+1 "
            "WHERE run_id=?1 AND step=?2",
            run_id_, step, chunk.epoch, chunk.ranks, chunk.samples[index], chunk.bucket[index]);
    execute(connection_,
            "DELETE FROM step_summary WHERE run_id=?1 AND step=?2 AND metric_id IN(SELECT "
            "metric_id FROM metric)",
            run_id_, step);
    return Row::fresh;
}

void StepWriter::merge_bucket_of(int step, std::string const& bucket) {
    auto& row = db::bind(
        connection_.prepared("SELECT bucket FROM step WHERE run_id=?1 AND step=?2 AND bucket<>?3"),
        run_id_, step, bucket);
    bool const differs = row.executeStep();
    std::string label = differs ? row.getColumn(0).getString() : bucket;
    row.reset();
    if (!differs) return;
    protocol::merge_bucket(label, bucket);
    execute(connection_, "UPDATE step SET bucket=?3 WHERE run_id=?1 AND step=?2", run_id_, step,
            label);
}

void StepWriter::add_values(protocol::MetricChunk const& chunk, std::size_t index, Row row) {
    char const* const sql = row == Row::fresh ? kInsert : kMerge;
    for (auto const& [name, column] : chunk.columns) {
        execute(connection_, sql, run_id_, metric_id(name), chunk.step0 + static_cast<int>(index),
                chunk.ranks, column.mean[index], column.min[index], column.max[index],
                column.argmax[index]);
    }
}

std::int64_t StepWriter::metric_id(std::string const& name) {
    if (auto const known = metric_ids_.find(name); known != metric_ids_.end()) return known->second;
    execute(connection_, "INSERT INTO metric(name,unit) VALUES(?1,?2) ON CONFLICT DO NOTHING", name,
            unit_of(name));
    auto const id =
        *select_integer(connection_, "SELECT metric_id FROM metric WHERE name=?1", name);
    return metric_ids_[name] = id;
}

StepWriter::Position& StepWriter::position(int node) {
    return positions_[node];
}

void StepWriter::finish() {
    for (auto const& [node, position] : positions_) {
        execute(connection_,
                "INSERT INTO run_node VALUES(?1,?2,NULL,'',NULL,?3,?4) ON CONFLICT(run_id,node) "
                "DO UPDATE SET metric_epoch=?3,metric_step=?4",
                run_id_, node, position.epoch, position.next_step);
    }
}

}  // namespace osora::db
