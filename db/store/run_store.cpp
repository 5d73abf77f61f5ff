// One statement for each thing that is read or written; kSelectRun alone defines the order of the
// columns, and read_run follows it.
#include "db/store/run_store.hpp"

#include "base/sha256.hpp"
#include "db/record/facts.hpp"
#include "protocol/journal/journal.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace osora::db {
namespace {

/// Iterates over the columns of a row.
class RowReader {
public:
    explicit RowReader(SQLite::Statement& row) : row_(row) {}
    std::int64_t integer() { return row_.getColumn(next_++).getInt64(); }
    int small() { return static_cast<int>(integer()); }
    std::string text() { return row_.getColumn(next_++).getString(); }
    std::optional<std::int64_t> optional_integer() {
        auto const column = row_.getColumn(next_++);
        if (column.isNull()) return std::nullopt;
        return column.getInt64();
    }

private:
    SQLite::Statement& row_;
    int next_ = 0;
};

protocol::Verdict verdict_of(std::string const& name) {
    auto verdict = protocol::Verdict::none;
    boost::describe::enum_from_string(name.c_str(), verdict);  // unknown: stays none
    return verdict;
}

template <class... A>
std::optional<RunRecord> select_run(Connection& connection, char const* where, A const&... values) {
    auto& statement = bind(connection.prepared(std::string(kSelectRun) + where), values...);
    std::optional<RunRecord> run;
    if (statement.executeStep()) run = read_run(statement);
    statement.reset();
    return run;
}

}  // namespace

char const* const kSelectRun =
    "SELECT r.run_id,r.uuid,r.number,r.name,s.name,r.series_id,r.job,r.arch,r.user,r.host,"
    "r.run_dir,r.submitted_us,r.started_us,r.first_step_us,r.last_us,r.ended_us,r.verdict,"
    "r.exit_code,r.cause,r.nodes,r.ranks,r.steps_planned,r.restarts_max,r.attached,r.attempt,"
    "r.launches,r.controllers,r.controller_host,r.controller_boot_id,r.controller_pid,"
    "r.fp_config,r.fp_software,r.fp_env,r.fp_hardware FROM run r JOIN series s USING(series_id) ";

RunRecord read_run(SQLite::Statement& statement) {
    RowReader row(statement);
    RunRecord run;
    run.run_id = row.integer();
    run.uuid = row.text();
    run.number = row.small();
    run.name = row.text();
    run.series = row.text();
    run.series_id = row.integer();
    for (auto* text : {&run.job, &run.arch, &run.user, &run.host, &run.run_dir}) *text = row.text();
    for (auto* time :
         {&run.submitted_us, &run.started_us, &run.first_step_us, &run.last_us, &run.ended_us}) {
        *time = row.optional_integer();
    }
    run.verdict = verdict_of(row.text());
    run.exit_code = row.small();
    run.cause = row.text();
    for (auto* number : {&run.nodes, &run.ranks, &run.steps_planned, &run.restarts_max}) {
        *number = row.small();
    }
    run.attached = row.integer() != 0;
    for (auto* number : {&run.attempt, &run.launches, &run.controllers}) *number = row.small();
    run.controller_host = row.text();
    run.controller_boot_id = row.text();
    run.controller_pid = row.small();
    for (auto& fp : run.fingerprint) fp = row.optional_integer();
    return run;
}

std::optional<RunRecord> run_of_uuid(Connection& connection, std::string const& uuid) {
    return select_run(connection, "WHERE r.uuid=?1", uuid);
}

bool has_journal(Connection& connection, std::string const& uuid) {
    auto const run = run_of_uuid(connection, uuid);
    std::error_code missing;
    return run && std::filesystem::exists(
                      std::filesystem::path(run->run_dir) / protocol::kJournalFile, missing);
}

std::optional<RunRecord> run_of_id(Connection& connection, std::int64_t run_id) {
    return select_run(connection, "WHERE r.run_id=?1", run_id);
}

void save_run(Connection& connection, RunRecord& run) {
    constexpr char const* kSave =
        "INSERT INTO run VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,"
        "?20,?21,?22,?23,?24,?25,?26,?27,?28,?29,?30,?31,?32,?33) ON CONFLICT(run_id) DO UPDATE "
        "SET "
        "number=?3,name=?4,series_id=?5,job=?6,arch=?7,user=?8,host=?9,run_dir=?10,"
        "submitted_us=?11,started_us=?12,first_step_us=?13,last_us=?14,ended_us=?15,verdict=?16,"
        "exit_code=?17,cause=?18,nodes=?19,ranks=?20,steps_planned=?21,restarts_max=?22,"
        "attached=?23,attempt=?24,launches=?25,controllers=?26,controller_host=?27,"
        "controller_boot_id=?28,controller_pid=?29,fp_config=?30,fp_software=?31,fp_env=?32,"
        "fp_hardware=?33";
    std::optional<std::int64_t> id;
    if (run.run_id != 0) id = run.run_id;
    execute(connection, kSave, id, run.uuid, run.number, run.name, run.series_id, run.job, run.arch,
            run.user, run.host, run.run_dir, run.submitted_us, run.started_us, run.first_step_us,
            run.last_us, run.ended_us, boost::describe::enum_to_string(run.verdict, "none"),
            run.exit_code, run.cause, run.nodes, run.ranks, run.steps_planned, run.restarts_max,
            run.attached, run.attempt, run.launches, run.controllers, run.controller_host,
            run.controller_boot_id, run.controller_pid, run.fingerprint[0], run.fingerprint[1],
            run.fingerprint[2], run.fingerprint[3]);
    if (run.run_id == 0) run.run_id = connection.database().getLastInsertRowid();
}

void delete_run(Connection& connection, std::int64_t run_id) {
    execute(connection, "DELETE FROM run WHERE run_id=?1", run_id);
}

std::int64_t series_id_of(Connection& connection, std::string const& name, Facts const& work) {
    auto const text = protocol::encode(work);
    auto const hash = sha256_hex(text);
    execute(connection,
            "INSERT INTO series(name,work_sha256,work) VALUES(?1,?2,?3) ON CONFLICT DO NOTHING",
            name, hash, text);
    return *select_integer(
        connection, "SELECT series_id FROM series WHERE name=?1 AND work_sha256=?2", name, hash);
}

Facts load_facts(Connection& connection, std::optional<std::int64_t> fp_id) {
    Facts facts;
    if (!fp_id) return facts;
    auto& statement =
        bind(connection.prepared("SELECT key,value FROM fp_item WHERE fp_id=?1"), *fp_id);
    while (statement.executeStep()) {
        facts.emplace(statement.getColumn(0).getString(), statement.getColumn(1).getString());
    }
    return facts;
}

std::optional<std::int64_t> fingerprint_id_of(Connection& connection, FactKind kind,
                                              Facts const& facts) {
    if (facts.empty()) return std::nullopt;
    auto const hash = fingerprint_sha256(kind, facts);
    constexpr char const* kFind = "SELECT fp_id FROM fingerprint WHERE sha256=?1";
    if (auto const found = select_integer(connection, kFind, hash)) return found;
    execute(connection, "INSERT INTO fingerprint(sha256,kind,n_items) VALUES(?1,?2,?3)", hash,
            boost::describe::enum_to_string(kind, "?"), facts.size());
    auto const id = connection.database().getLastInsertRowid();
    for (auto const& [key, value] : facts) {
        execute(connection, "INSERT INTO fp_item VALUES(?1,?2,?3)", id, key, value);
    }
    return id;
}

void remove_unused(Connection& connection) {
    execute(connection,
            "DELETE FROM fingerprint WHERE fp_id NOT IN(SELECT fp_config FROM run WHERE fp_config "
            "NOT NULL UNION SELECT fp_software FROM run WHERE fp_software NOT NULL UNION SELECT "
            "fp_env FROM run WHERE fp_env NOT NULL UNION SELECT fp_hardware FROM run WHERE "
            "fp_hardware NOT NULL)");
    execute(connection, "DELETE FROM series WHERE series_id NOT IN(SELECT series_id FROM run)");
}

}  // namespace osora::db
