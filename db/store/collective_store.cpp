#include "db/store/collective_store.hpp"

namespace osora::db {

void save_collectives(Connection& connection, std::int64_t run_id,
                      protocol::CollectiveSums const& sums) {
    if (!is_sane(sums)) return;
    for (auto const& sum : sums.sums) {
        auto const& cost = sum.cost;
        execute(connection,
                "INSERT INTO collective_sum VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13) ON "
                "CONFLICT DO UPDATE SET rank_steps=rank_steps+excluded.rank_steps,"
                "calls=calls+excluded.calls,bytes=bytes+excluded.bytes,"
                "seconds=seconds+excluded.seconds,exposed_s=exposed_s+excluded.exposed_s",
                run_id, sums.attempt, sum.warmup, cost.name, cost.collective, cost.backend,
                cost.ranks, sum.bucket, sum.rank_steps, cost.calls, static_cast<double>(cost.bytes),
                cost.seconds, cost.exposed_s);
    }
}

std::vector<CollectiveTotal> load_collectives(Connection& connection, std::int64_t run_id) {
    std::vector<CollectiveTotal> totals;
    auto& row = bind(
        connection.prepared(
            "SELECT class,collective,backend,ranks,sum(rank_steps),sum(calls),sum(bytes),"
            "sum(seconds),sum(exposed_s) FROM collective_sum WHERE run_id=?1 AND warmup=(SELECT "
            "min(warmup) FROM collective_sum WHERE run_id=?1) GROUP BY 1,2,3,4 "
            "ORDER BY 9 DESC,1,2,3,4"),
        run_id);
    while (row.executeStep()) {
        CollectiveTotal total;
        total.name = row.getColumn(0).getString();
        total.collective = row.getColumn(1).getString();
        total.backend = row.getColumn(2).getString();
        total.ranks = row.getColumn(3).getInt();
        total.rank_steps = row.getColumn(4).getInt64();
        total.calls = row.getColumn(5).getInt64();
        int column = 6;
        for (auto* value : {&total.bytes, &total.seconds, &total.exposed_s}) {
            *value = row.getColumn(column++).getDouble();
        }
        totals.push_back(std::move(total));
    }
    return totals;
}

}  // namespace osora::db
