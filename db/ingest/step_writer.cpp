// Most steps are new; only those at or below last_step_ are looked up. Loaded rows are merged as if
// they had stayed in memory, so batch boundaries do not affect the rows.
#include "db/ingest/step_writer.hpp"

#include "protocol/steps/bucket_label.hpp"
#include "protocol/steps/step_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace osora::db {
namespace {

Result<void> check_shape(protocol::MergedSteps const& steps) {
    auto const count = steps.bucket.size();
    bool good = steps.samples.size() == count && steps.ranks.size() == count && steps.step0 >= 0 &&
                std::ranges::all_of(steps.ranks, [](int ranks) { return ranks > 0; });
    for (auto const& [name, column] : steps.columns) {
        good = good && column.mean.size() == count && column.min.size() == count &&
               column.max.size() == count && column.argmax.size() == count;
    }
    if (good) return {};
    return Error{Errc::invalid_input,
                 fmt::format("metrics of node {} from step {}: their columns differ in length",
                             steps.first_node, steps.step0)};
}

std::string unit_of(std::string const& metric) {
    if (metric.ends_with("_s")) return "s";
    if (metric.ends_with("_bytes")) return "bytes";
    return "1";
}

}  // namespace

StepWriter::StepWriter(Connection& connection, std::int64_t run_id)
    : connection_(connection), run_id_(run_id) {
    last_step_ = select_integer(connection, "SELECT max(step) FROM step WHERE run_id=?1", run_id)
                     .value_or(-1);
    auto& nodes = bind(connection.prepared("SELECT node,metric_attempt,metric_step FROM run_node "
                                           "WHERE run_id=?1"),
                       run_id);
    while (nodes.executeStep()) {
        positions_[nodes.getColumn(0).getInt()] = {nodes.getColumn(1).getInt(),
                                                   nodes.getColumn(2).getInt()};
    }
}

Result<void> StepWriter::add(protocol::MergedSteps const& steps) {
    OSORA_TRY_VOID(check_shape(steps));
    OSORA_TRY(auto const nodes, nodes_of(steps));
    // If every node of the record had reported this before, it is a repetition.
    int first = nodes.empty() ? 0 : std::numeric_limits<int>::max();
    for (auto const& report : nodes) {
        auto& read = positions_[report.node];
        if (steps.attempt > read.attempt) read = {steps.attempt, 0};
        bool const is_over = steps.attempt < read.attempt;
        first = std::min(first, is_over ? report.next_step : read.next_step);
        if (!is_over) read.next_step = std::max(read.next_step, report.next_step);
    }
    for (std::size_t i = 0; i < steps.bucket.size(); ++i) {
        if (steps.step0 + static_cast<int>(i) >= first) add_step(steps, i);
    }
    return {};
}

void StepWriter::add(protocol::RankMatrix const& matrix, std::uint64_t sequence) {
    for (auto const& [name, data] : matrix.figures) {
        execute(connection_, "INSERT INTO rank_matrix VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
                run_id_, metric_id(name), sequence, matrix.attempt, matrix.step0, matrix.steps,
                matrix.node, matrix.first_rank, matrix.ranks, std::as_bytes(std::span(data.value)));
    }
}

std::optional<StepWriter::Step> StepWriter::load(int step) {
    auto& row = bind(connection_.prepared("SELECT attempt,ranks,samples,repeated,bucket FROM step "
                                          "WHERE run_id=?1 AND step=?2"),
                     run_id_, step);
    if (!row.executeStep()) return std::nullopt;
    Step result;
    int column = 0;
    for (auto* value : {&result.attempt, &result.ranks, &result.samples, &result.repeated}) {
        *value = row.getColumn(column++).getInt();
    }
    result.bucket = row.getColumn(column).getString();
    row.reset();
    // By metric: the key of a row begins with it.
    auto& cell = bind(connection_.prepared("SELECT s.metric_id,n,mean,vmin,vmax,argmax FROM metric "
                                           "m CROSS JOIN step_summary s USING(metric_id) WHERE "
                                           "s.run_id=?1 AND s.step=?2 ORDER BY 1"),
                      run_id_, step);
    while (cell.executeStep()) {
        result.cells.push_back({cell.getColumn(0).getInt64(),
                                {cell.getColumn(1).getInt64(), real_or_nan(cell.getColumn(2)),
                                 real_or_nan(cell.getColumn(3)), real_or_nan(cell.getColumn(4)),
                                 cell.getColumn(5).getInt()}});
    }
    return result;
}

StepWriter::Step* StepWriter::find(int step) {
    if (auto const known = steps_.find(step); known != steps_.end()) return &known->second;
    if (step > last_step_) return nullptr;
    auto loaded = load(step);
    return loaded ? &steps_.emplace(step, std::move(*loaded)).first->second : nullptr;
}

void StepWriter::add_step(protocol::MergedSteps const& steps, std::size_t index) {
    int const number = steps.step0 + static_cast<int>(index);
    Step* step = find(number);
    last_step_ = std::max<std::int64_t>(last_step_, number);
    if (step != nullptr && step->attempt > steps.attempt) return;
    if (step == nullptr || step->attempt < steps.attempt) {
        bool const is_new = step == nullptr;
        Step fresh{.attempt = steps.attempt,
                   .repeated = is_new ? 0 : step->repeated + 1,
                   .bucket = steps.bucket[index],
                   .cells = {},
                   .replaces = !is_new};
        step = &(steps_[number] = std::move(fresh));
    }
    step->ranks = protocol::sum_of_counts(step->ranks, steps.ranks[index]);
    step->samples = protocol::sum_of_counts(step->samples, steps.samples[index]);
    // Ranks may train different buckets in the same step.
    protocol::merge_bucket(step->bucket, steps.bucket[index]);
    for (auto const& [name, column] : steps.columns) {
        auto const summary = protocol::summary_of(steps, name, column, index);
        if (summary.n <= 0) continue;
        auto const id = metric_id(name);
        auto const place = std::ranges::lower_bound(step->cells, id, {}, &Cell::metric_id);
        if (place != step->cells.end() && place->metric_id == id) {
            place->summary.merge(summary);
        } else {
            step->cells.insert(place, {id, summary});
        }
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

void StepWriter::finish() {
    for (auto const& [number, step] : steps_) {
        execute(connection_,
                "INSERT INTO step VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(run_id,step) DO UPDATE "
                "SET attempt=?3,ranks=?4,samples=?5,bucket=?6,repeated=?7",
                run_id_, number, step.attempt, step.ranks, step.samples, step.bucket,
                step.repeated);
        if (!step.replaces) continue;
        execute(connection_,
                "DELETE FROM step_summary WHERE run_id=?1 AND step=?2 AND metric_id IN(SELECT "
                "metric_id FROM metric)",
                run_id_, number);
    }
    // In the order of the table's key: neighbours share a page.
    for (auto const& [name, id] : metric_ids_) {
        for (auto const& [number, step] : steps_) {
            auto const cell = std::ranges::lower_bound(step.cells, id, {}, &Cell::metric_id);
            if (cell == step.cells.end() || cell->metric_id != id) continue;
            execute(connection_,
                    "INSERT OR REPLACE INTO step_summary VALUES(?1,?2,?3,?4,?5,?6,?7,?8)", run_id_,
                    id, number, cell->summary.n, cell->summary.mean, cell->summary.min,
                    cell->summary.max, cell->summary.argmax);
        }
    }
    steps_.clear();
    for (auto const& [node, position] : positions_) {
        execute(connection_,
                "INSERT INTO run_node VALUES(?1,?2,NULL,'',NULL,?3,?4) ON CONFLICT(run_id,node) "
                "DO UPDATE SET metric_attempt=?3,metric_step=?4",
                run_id_, node, position.attempt, position.next_step);
    }
}

}  // namespace osora::db
