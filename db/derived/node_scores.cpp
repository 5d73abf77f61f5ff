#include "db/derived/node_scores.hpp"

#include "db/store/connection_internal.hpp"

namespace osora::db {
namespace {

constexpr double kBytesPerGbit = 1e9 / 8;

// Only the newest probes: with 1,024 nodes they are half a million rows.
constexpr char const* kNewest =
    "WITH newest AS MATERIALIZED (SELECT run_id FROM run r WHERE EXISTS(SELECT 1 FROM probe_node p "
    "WHERE p.run_id=r.run_id) ORDER BY submitted_us DESC,run_id DESC LIMIT 500) ";
constexpr char const* kNetwork =
    "SELECT p.run_id,r.number,r.submitted_us,p.hostname,p.leaf,'',p.gbit_s,p.of_median "
    "FROM newest JOIN probe_node p USING(run_id) JOIN run r USING(run_id) WHERE p.samples>0 AND "
    "p.of_median>0";
// Files may be read more than once; reads by all nodes at once show the storage rather than a node.
constexpr char const* kStorage =
    "SELECT p.run_id,r.number,r.submitted_us,s.hostname,s.leaf,p.path,"
    "avg(p.read_bytes_per_s),0.0 "
    "FROM newest JOIN probe_storage p USING(run_id) JOIN run r USING(run_id) "
    "JOIN probe_node s ON s.run_id=p.run_id AND s.node=p.node "
    "WHERE p.alone=1 AND p.path<>'' AND p.read_bytes_per_s>0 "
    "GROUP BY p.run_id,p.node,p.path";

void load(Connection& connection, char const* sql, double bytes_per_unit,
          std::vector<analysis::NodeScore>& into) {
    auto& row = connection.prepared(std::string(kNewest) + sql);
    while (row.executeStep()) {
        analysis::NodeScore score;
        score.run_id = row.getColumn(0).getInt64();
        score.run = row.getColumn(1).getInt();
        if (!row.getColumn(2).isNull()) score.submitted_us = row.getColumn(2).getInt64();
        score.host = row.getColumn(3).getString();
        score.leaf = row.getColumn(4).getString();
        score.path = row.getColumn(5).getString();
        score.rate = bytes_per_unit * row.getColumn(6).getDouble();
        score.of_median = row.getColumn(7).getDouble();
        into.push_back(std::move(score));
    }
    row.reset();
}

}  // namespace

Result<std::vector<analysis::NodeScore>> load_node_scores(Store& store) {
    auto& connection = store.connection();
    return guarded(connection, "read probes", [&]() -> Result<std::vector<analysis::NodeScore>> {
        std::vector<analysis::NodeScore> scores;
        load(connection, kNetwork, kBytesPerGbit, scores);
        load(connection, kStorage, 1, scores);
        return scores;
    });
}

}  // namespace osora::db
