// Reads only the members of topology::ProbeResult that the history stores: db/ does not know
// topology/, and an older or newer prober may have other members.
#include "db/ingest/probe_writer.hpp"

#include <cmath>
#include <optional>

namespace osora::db {
namespace {

struct WrittenPair {
    std::string stage, transport, interface, network;
    int round = 0, from = -1, to = -1;
    std::int64_t size_bytes = 0;
    double seconds = 0, latency_us = 0;
};
struct Collective {
    std::string backend, collective;
    int ranks = 0, nodes = 0;
    std::int64_t size_bytes = 0;
    double time_us = 0;
};
struct Storage {
    int node = -1, files = 0;
    bool alone = true;
    std::string path;
    double read_bytes_per_s = 0, open_us = 0;
};
struct Score {
    double gbit_s = 0, of_median = 0;
    int samples = 0;
    bool bad = false;
    std::string interface;
};
struct Finding {
    std::string kind, where, evidence;
    std::vector<std::string> nodes;
    double ratio = 0;
};
struct Part {
    std::vector<std::string> nodes, leaves;
    std::vector<WrittenPair> pairs;
    std::vector<Collective> collectives;
    std::vector<Storage> storage;
    std::vector<Score> scores;
    std::vector<Finding> findings;
};
BOOST_DESCRIBE_STRUCT(WrittenPair, (),
                      (stage, transport, interface, network, round, from, to, size_bytes, seconds,
                       latency_us))
BOOST_DESCRIBE_STRUCT(Collective, (), (backend, collective, ranks, nodes, size_bytes, time_us))
BOOST_DESCRIBE_STRUCT(Storage, (), (node, files, alone, path, read_bytes_per_s, open_us))
BOOST_DESCRIBE_STRUCT(Score, (), (gbit_s, of_median, samples, bad, interface))
BOOST_DESCRIBE_STRUCT(Finding, (), (kind, where, evidence, nodes, ratio))
BOOST_DESCRIBE_STRUCT(Part, (), (nodes, leaves, pairs, collectives, storage, scores, findings))

/// SQLite has no NaN: it becomes 0.
double figure(double value) {
    return std::isfinite(value) ? value : 0;
}

struct Place {
    Connection& connection;
    std::int64_t run_id, sequence;
};

void save(Place const& at, std::int64_t ordinal, WrittenPair const& each) {
    execute(at.connection,
            "INSERT INTO probe_pair VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)", at.run_id,
            at.sequence, ordinal, each.stage, each.round, each.from, each.to, each.transport,
            each.interface, each.network, each.size_bytes, figure(each.seconds),
            each.latency_us > 0 ? std::optional(each.latency_us) : std::nullopt);
}

void save(Place const& at, std::int64_t ordinal, Collective const& each) {
    execute(at.connection, "INSERT INTO probe_collective VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
            at.run_id, at.sequence, ordinal, each.backend, each.collective, each.ranks, each.nodes,
            each.size_bytes, figure(each.time_us));
}

void save(Place const& at, std::int64_t ordinal, Storage const& each) {
    execute(at.connection, "INSERT INTO probe_storage VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
            at.run_id, at.sequence, ordinal, each.node, each.alone ? 1 : 0, each.path,
            figure(each.read_bytes_per_s), figure(each.open_us), each.files);
}

template <class Row>
void save_all(Place const& at, std::vector<Row> const& rows) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
        save(at, static_cast<std::int64_t>(row), rows[row]);
    }
}

/// With the last part: replaces the probe of the controller's previous incarnation.
void save_answer(Place const& at, Part const& part) {
    for (std::size_t node = 0; node < part.scores.size() && node < part.nodes.size(); ++node) {
        Score const& score = part.scores[node];
        execute(at.connection,
                "INSERT OR REPLACE INTO probe_node VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)", at.run_id,
                static_cast<std::int64_t>(node), part.nodes[node],
                node < part.leaves.size() ? part.leaves[node] : std::string(), figure(score.gbit_s),
                figure(score.of_median), score.samples, score.bad ? 1 : 0, score.interface);
    }
    for (std::size_t ordinal = 0; ordinal < part.findings.size(); ++ordinal) {
        Finding const& finding = part.findings[ordinal];
        execute(at.connection, "INSERT OR REPLACE INTO probe_finding VALUES(?1,?2,?3,?4,?5,?6,?7)",
                at.run_id, static_cast<std::int64_t>(ordinal), finding.kind, finding.where,
                protocol::json::serialize(protocol::to_json(finding.nodes)), figure(finding.ratio),
                finding.evidence);
    }
}

}  // namespace

void save_probe_part(Connection& connection, std::int64_t run_id, std::uint64_t sequence,
                     protocol::ProbePart const& event) {
    auto const part = protocol::from_json<Part>(event.part);
    if (part.has_error()) return;
    Place const at{connection, run_id, static_cast<std::int64_t>(sequence)};
    save_all(at, part->pairs);
    save_all(at, part->collectives);
    save_all(at, part->storage);
    save_answer(at, *part);
}

}  // namespace osora::db
