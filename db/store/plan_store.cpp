// The plan arrives as JSON; fields that another version leaves out stay unknown.
#include "db/store/described_row.hpp"
#include "db/store/run_store.hpp"

namespace osora::db {
namespace {

struct BucketKey {
    std::int64_t run_id = 0;
    int ordinal = 0;
};
BOOST_DESCRIBE_STRUCT(BucketKey, (), (run_id, ordinal))

}  // namespace

void save_plan(Connection& connection, std::int64_t run_id, protocol::json::value const& plan) {
    execute(connection, "DELETE FROM plan WHERE run_id=?1", run_id);
    execute(connection, "DELETE FROM plan_bucket WHERE run_id=?1", run_id);
    auto const parsed = protocol::from_json<PlanRecord>(plan);
    if (parsed.has_error()) return;  // a job without a layout: nothing to compare with
    insert_row(connection, "plan", RunKey{run_id}, parsed->chosen, parsed->predicted);
    BucketKey key{.run_id = run_id};
    for (auto const& each : parsed->chosen.buckets) {
        insert_row(connection, "plan_bucket", key, each);
        ++key.ordinal;
    }
}

std::optional<PlanRecord> load_plan(Connection& connection, std::int64_t run_id) {
    PlanRecord plan;
    auto& row = bind(connection.prepared("SELECT * FROM plan WHERE run_id=?1"), run_id);
    if (!read_row(row, plan.chosen, plan.predicted)) return std::nullopt;
    row.reset();
    auto& bucket_row = bind(
        connection.prepared("SELECT * FROM plan_bucket WHERE run_id=?1 ORDER BY ordinal"), run_id);
    for (PlannedBucket each; read_row(bucket_row, each);) plan.chosen.buckets.push_back(each);
    return plan;
}

}  // namespace osora::db
