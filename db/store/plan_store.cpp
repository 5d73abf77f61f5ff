// The part of a plan::PlanDecision that the history stores. The plan arrives as JSON; fields that
// another version leaves out stay unknown.
#include "db/store/run_store.hpp"

namespace osora::db {
namespace {

struct PlannedLayout {
    int tp_size = 1, pp_size = 1, sp_size = 1, dp_size = 1, zero_stage = 0;
    std::string recompute, activation_store;
    int num_workers = 0, threads_per_rank = 0;
    std::vector<PlannedBucket> buckets;
};
struct PlannedFigures {
    double step_time_s = kUnknown, step_time_error = kUnknown, compute_s = kUnknown;
    double exposed_comm_s = kUnknown, bubble_s = kUnknown, loader_s = kUnknown;
    double peak_memory_gib = kUnknown, host_memory_gib = kUnknown, samples_per_s = kUnknown;
};
struct PlanJson {
    PlannedLayout chosen;
    PlannedFigures predicted;
};
BOOST_DESCRIBE_STRUCT(PlannedLayout, (),
                      (tp_size, pp_size, sp_size, dp_size, zero_stage, recompute, activation_store,
                       num_workers, threads_per_rank, buckets))
BOOST_DESCRIBE_STRUCT(PlannedFigures, (),
                      (step_time_s, step_time_error, compute_s, exposed_comm_s, bubble_s, loader_s,
                       peak_memory_gib, host_memory_gib, samples_per_s))
BOOST_DESCRIBE_STRUCT(PlanJson, (), (chosen, predicted))

std::vector<PlannedBucket> load_buckets(Connection& connection, std::int64_t run_id) {
    std::vector<PlannedBucket> buckets;
    auto& row = bind(connection.prepared("SELECT resolution,num_frames,height,width,"
                                         "micro_batch_size,grad_accum_steps,global_batch_size,"
                                         "gflop_per_sample,step_time_s,peak_memory_gib "
                                         "FROM plan_bucket WHERE run_id=?1 ORDER BY ordinal"),
                     run_id);
    while (row.executeStep()) {
        PlannedBucket each;
        each.resolution = row.getColumn(0).getString();
        int column = 1;
        for (auto* number : {&each.num_frames, &each.height, &each.width, &each.micro_batch_size,
                             &each.grad_accum_steps, &each.global_batch_size}) {
            *number = row.getColumn(column++).getInt();
        }
        for (auto* figure : {&each.gflop_per_sample, &each.step_time_s, &each.peak_memory_gib}) {
            *figure = real_or_nan(row.getColumn(column++));
        }
        buckets.push_back(std::move(each));
    }
    return buckets;
}

}  // namespace

BOOST_DESCRIBE_STRUCT(PlannedBucket, (),
                      (resolution, num_frames, height, width, micro_batch_size, grad_accum_steps,
                       global_batch_size, gflop_per_sample, step_time_s, peak_memory_gib))

void save_plan(Connection& connection, std::int64_t run_id, protocol::json::value const& plan) {
    execute(connection, "DELETE FROM plan WHERE run_id=?1", run_id);
    execute(connection, "DELETE FROM plan_bucket WHERE run_id=?1", run_id);
    auto const parsed = protocol::from_json<PlanJson>(plan);
    if (parsed.has_error()) return;  // a job without a layout: nothing to compare with
    auto const& [layout, predicted] = *parsed;
    execute(connection,
            "INSERT INTO plan VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,"
            "?18,?19)",
            run_id, layout.tp_size, layout.pp_size, layout.sp_size, layout.dp_size,
            layout.zero_stage, layout.recompute, layout.activation_store, layout.num_workers,
            layout.threads_per_rank, predicted.step_time_s, predicted.step_time_error,
            predicted.compute_s, predicted.exposed_comm_s, predicted.bubble_s, predicted.loader_s,
            predicted.peak_memory_gib, predicted.host_memory_gib, predicted.samples_per_s);
    int ordinal = 0;
    for (auto const& each : layout.buckets) {
        execute(connection,
                "INSERT INTO plan_bucket VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)", run_id,
                ordinal++, each.resolution, each.num_frames, each.height, each.width,
                each.micro_batch_size, each.grad_accum_steps, each.global_batch_size,
                each.gflop_per_sample, each.step_time_s, each.peak_memory_gib);
    }
}

std::optional<PlanRecord> load_plan(Connection& connection, std::int64_t run_id) {
    auto& row = bind(connection.prepared("SELECT * FROM plan WHERE run_id=?1"), run_id);
    if (!row.executeStep()) return std::nullopt;
    PlanRecord plan;
    int column = 1;
    for (auto* size :
         {&plan.tp_size, &plan.pp_size, &plan.sp_size, &plan.dp_size, &plan.zero_stage}) {
        *size = row.getColumn(column++).getInt();
    }
    plan.recompute = row.getColumn(column++).getString();
    plan.activation_store = row.getColumn(column++).getString();
    plan.num_workers = row.getColumn(column++).getInt();
    plan.threads_per_rank = row.getColumn(column++).getInt();
    for (auto* figure : {&plan.step_time_s, &plan.step_time_error, &plan.compute_s,
                         &plan.exposed_comm_s, &plan.bubble_s, &plan.loader_s,
                         &plan.peak_memory_gib, &plan.host_memory_gib, &plan.samples_per_s}) {
        *figure = real_or_nan(row.getColumn(column++));
    }
    row.reset();
    plan.buckets = load_buckets(connection, run_id);
    return plan;
}

}  // namespace osora::db
