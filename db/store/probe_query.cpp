// Converts rows of the probe tables to value types; db/analysis interprets them.
#include "db/store/probe_query.hpp"

namespace osora::db {
namespace {

void load_probe_nodes(Connection& connection, std::int64_t run_id, ProbeRecord& into) {
    auto& row = bind(connection.prepared("SELECT node,hostname,leaf,gbit_s,of_median,samples,bad "
                                         "FROM probe_node WHERE run_id=?1 ORDER BY node"),
                     run_id);
    while (row.executeStep()) {
        into.nodes.push_back({.node = row.getColumn(0).getInt(),
                              .hostname = row.getColumn(1).getString(),
                              .leaf = row.getColumn(2).getString(),
                              .gbit_s = row.getColumn(3).getDouble(),
                              .of_median = row.getColumn(4).getDouble(),
                              .samples = row.getColumn(5).getInt(),
                              .bad = row.getColumn(6).getInt() != 0});
    }
    row.reset();
}

void load_transfers(Connection& connection, std::int64_t run_id, ProbeRecord& into) {
    auto& row =
        bind(connection.prepared("SELECT stage,network,round,from_node,to_node,size_bytes,seconds "
                                 "FROM probe_pair WHERE run_id=?1 ORDER BY sequence,ordinal"),
             run_id);
    while (row.executeStep()) {
        into.transfers.push_back({.stage = row.getColumn(0).getString(),
                                  .network = row.getColumn(1).getString(),
                                  .round = row.getColumn(2).getInt(),
                                  .from = row.getColumn(3).getInt(),
                                  .to = row.getColumn(4).getInt(),
                                  .size_bytes = row.getColumn(5).getInt64(),
                                  .seconds = row.getColumn(6).getDouble()});
    }
    row.reset();
}

void load_findings(Connection& connection, std::int64_t run_id, ProbeRecord& into) {
    auto& row = bind(connection.prepared("SELECT kind,place,evidence FROM probe_finding WHERE "
                                         "run_id=?1 ORDER BY ordinal"),
                     run_id);
    while (row.executeStep()) {
        into.findings.push_back({row.getColumn(0).getString(), row.getColumn(1).getString(),
                                 row.getColumn(2).getString()});
    }
    row.reset();
}

}  // namespace

ProbeRecord load_probe(Connection& connection, std::int64_t run_id) {
    ProbeRecord probe;
    load_probe_nodes(connection, run_id, probe);
    load_transfers(connection, run_id, probe);
    load_findings(connection, run_id, probe);
    return probe;
}

}  // namespace osora::db
