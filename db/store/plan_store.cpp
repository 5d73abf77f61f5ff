// The plan arrives as JSON; fields that another version leaves out stay unknown.
#include "db/store/described_row.hpp"
#include "db/store/run_store.hpp"

namespace osora::db {
namespace {

struct StageStart {
    int at_step = 0;
};
struct Stages {
    std::vector<StageStart> stages;
};
BOOST_DESCRIBE_STRUCT(StageStart, (), (at_step))
BOOST_DESCRIBE_STRUCT(Stages, (), (stages))

struct PartKey {
    std::int64_t run_id = 0;
    int ordinal = 0;
};
BOOST_DESCRIBE_STRUCT(PartKey, (), (run_id, ordinal))

template <class Part>
void insert_parts(Connection& connection, char const* table, std::int64_t run_id,
                  std::vector<Part> const& parts) {
    PartKey key{.run_id = run_id};
    for (auto const& each : parts) {
        insert_row(connection, table, key, each);
        ++key.ordinal;
    }
}

}  // namespace

void save_plan(Connection& connection, std::int64_t run_id, protocol::json::value const& plan) {
    execute(connection, "DELETE FROM plan WHERE run_id=?1", run_id);
    execute(connection, "DELETE FROM plan_bucket WHERE run_id=?1", run_id);
    execute(connection, "DELETE FROM plan_batch WHERE run_id=?1", run_id);
    auto parsed = protocol::from_json<PlanRecord>(plan);
    if (parsed.has_error()) return;  // a job without a layout: nothing to compare with
    auto const staged = protocol::from_json<Stages>(plan);
    bool const has_stages = staged.has_value() && !staged->stages.empty();
    parsed->chosen.first_stage_step = has_stages ? staged->stages.front().at_step : 0;
    insert_row(connection, "plan", RunKey{run_id}, parsed->chosen, parsed->predicted);
    insert_parts(connection, "plan_bucket", run_id, parsed->chosen.buckets);
    insert_parts(connection, "plan_batch", run_id, parsed->batch_curve);
}

std::optional<PlanRecord> load_plan(Connection& connection, std::int64_t run_id) {
    PlanRecord plan;
    auto& row = bind(connection.prepared("SELECT * FROM plan WHERE run_id=?1"), run_id);
    if (!read_row(row, plan.chosen, plan.predicted)) return std::nullopt;
    row.reset();
    auto& bucket_row = bind(
        connection.prepared("SELECT * FROM plan_bucket WHERE run_id=?1 ORDER BY ordinal"), run_id);
    for (PlannedBucket each; read_row(bucket_row, each);) plan.chosen.buckets.push_back(each);
    bucket_row.reset();
    auto& batch_row = bind(
        connection.prepared("SELECT * FROM plan_batch WHERE run_id=?1 ORDER BY ordinal"), run_id);
    for (PlannedBatch each; read_row(batch_row, each);) plan.batch_curve.push_back(each);
    return plan;
}

}  // namespace osora::db
