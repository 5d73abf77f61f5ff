// Converts rows to value types; db/analysis interprets them.
#include "db/store/queries.hpp"

#include "base/secrets.hpp"
#include "base/text/nearest.hpp"
#include "db/store/collective_store.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/probe_query.hpp"
#include "db/store/run_query.hpp"
#include "db/store/run_store.hpp"
#include "db/store/step_store.hpp"
#include "db/store/thinning.hpp"
#include "protocol/run_directory.hpp"
#include "protocol/secret_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace osora::db {
namespace {

constexpr std::size_t kUuidPrefixMin = 4;

std::vector<RunRecord> select_runs(Connection& connection, std::string const& rest,
                                   std::string const& value) {
    std::vector<RunRecord> runs;
    auto& row = bind(connection.prepared(std::string(kSelectRun) + rest), value);
    while (row.executeStep()) runs.push_back(read_run(row));
    row.reset();
    return runs;
}

/// Journals of older versions hold the values of variables; those that look like secrets are
/// replaced as newer versions write them.
Facts without_secrets(Facts facts, RunRecord const& run) {
    constexpr std::string_view kVariables = "worker.env.";
    auto const key = protocol::known_secret_key(protocol::RunPaths{run.run_dir}.state().dir);
    for (auto& [name, value] : facts) {
        bool const of_workers = name.starts_with(kVariables);
        bool const is_setting = !of_workers && name.find('.') != std::string::npos;
        if (is_setting) continue;
        value = shown_value(key, of_workers ? name.substr(kVariables.size()) : name, value);
    }
    return facts;
}

std::vector<RunNode> load_nodes(Connection& connection, std::int64_t run_id) {
    std::vector<RunNode> nodes;
    auto& row = bind(connection.prepared("SELECT n.node,coalesce(h.hostname,''),n.boot_id,"
                                         "coalesce(n.cores,0) FROM run_node n LEFT JOIN node h "
                                         "USING(node_id) WHERE n.run_id=?1 ORDER BY 1"),
                     run_id);
    while (row.executeStep()) {
        nodes.push_back({row.getColumn(0).getInt(), row.getColumn(1).getString(),
                         row.getColumn(2).getString(), row.getColumn(3).getInt()});
    }
    return nodes;
}

std::string load_device(Connection& connection, std::int64_t run_id) {
    auto& row = bind(
        connection.prepared("SELECT device FROM run_rank WHERE run_id=?1 ORDER BY rank LIMIT 1"),
        run_id);
    std::string const device = row.executeStep() ? row.getColumn(0).getString() : "";
    row.reset();
    return device;
}

RunSummary load_summary(Connection& connection, RunRecord run) {
    RunSummary summary;
    summary.plan = load_plan(connection, run.run_id);
    summary.measured = load_measured(connection, run.run_id);
    summary.nodes = load_nodes(connection, run.run_id);
    summary.device = load_device(connection, run.run_id);
    summary.run = std::move(run);
    return summary;
}

std::vector<std::string> column_of(Connection& connection, char const* sql) {
    std::vector<std::string> values;
    auto& row = connection.prepared(sql);
    while (row.executeStep()) values.push_back(row.getColumn(0).getString());
    return values;
}

/// "; did you mean X?" for the nearest of the names that `sql` selects.
std::string did_you_mean(Connection& connection, std::string_view wanted, char const* sql) {
    auto const names = column_of(connection, sql);
    std::vector<std::string_view> const candidates(names.begin(), names.end());
    if (auto const near = nearest_name(wanted, candidates)) {
        return fmt::format("; did you mean {}?", *near);
    }
    if (names.empty()) return "; there are no runs yet: osora submit starts one";
    return "; osora history lists what there is";
}

/// Drops imported runs if a run of this state folder has the same name: an import never shadows it.
std::vector<RunRecord> own_first(std::vector<RunRecord> found) {
    if (!std::ranges::all_of(found, is_imported)) std::erase_if(found, is_imported);
    return found;
}

std::vector<RunRecord> candidates(Connection& connection, std::string const& wanted) {
    bool const digits = wanted.find_first_not_of("0123456789") == std::string::npos;
    std::vector<RunRecord> found;
    if (digits) {
        found = own_first(select_runs(connection, "WHERE r.number=CAST(?1 AS INT)", wanted));
    }
    if (found.empty()) found = own_first(select_runs(connection, "WHERE r.name=?1", wanted));
    if (found.empty()) {
        found =
            own_first(select_runs(connection, "WHERE s.name=?1 ORDER BY r.number DESC", wanted));
        if (found.size() > 1) found.resize(1);
    }
    bool const hexadecimal = wanted.find_first_not_of("0123456789abcdef-") == std::string::npos;
    if (found.empty() && hexadecimal && wanted.size() >= kUuidPrefixMin) {
        found = select_runs(connection, "WHERE substr(r.uuid,1,length(?1))=?1", wanted);
    }
    return found;
}

}  // namespace

std::vector<EventRecord> load_events(Connection& connection, std::int64_t run_id) {
    std::vector<EventRecord> events;
    auto& row =
        bind(connection.prepared(
                 "SELECT coalesce(sequence,-1),coalesce(wall_us,0),kind,severity,"
                 "coalesce(attempt,-1),coalesce(node,-1),coalesce(rank,-1),coalesce(step,-1),"
                 "body FROM event WHERE run_id=?1 ORDER BY event_id"),
             run_id);
    while (row.executeStep()) {
        EventRecord event;
        event.sequence = row.getColumn(0).getInt64();
        event.wall_us = row.getColumn(1).getInt64();
        event.kind = row.getColumn(2).getString();
        event.severity = row.getColumn(3).getString();
        int column = 4;
        for (auto* place : {&event.attempt, &event.node, &event.rank, &event.step}) {
            *place = row.getColumn(column++).getInt();
        }
        event.body = row.getColumn(8).getString();
        events.push_back(std::move(event));
    }
    return events;
}

std::vector<SeriesRun> load_series_runs(Connection& connection, std::string const& where,
                                        std::string const& value) {
    std::vector<SeriesRun> runs;
    for (auto& run : select_runs(connection, where + " ORDER BY r.number,r.run_id", value)) {
        auto& row =
            bind(connection.prepared("SELECT work FROM series WHERE series_id=?1"), run.series_id);
        auto const work = row.executeStep() ? protocol::decode<Facts>(row.getColumn(0).getString())
                                            : Result<Facts>(Facts{});
        row.reset();
        runs.push_back(
            {load_summary(connection, std::move(run)), work.has_value() ? *work : Facts{}});
    }
    return runs;
}

Result<std::vector<RunSummary>> list_runs(Store& store, std::string_view text, int limit) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<std::vector<RunSummary>> {
        std::string const rest = fmt::format(
            "WHERE ?1='' OR instr(lower(r.name||' '||r.arch||' '||r.user||' '||r.verdict||' '||"
            "r.cause||' '||coalesce((SELECT group_concat(value,' ') FROM fp_item WHERE "
            "fp_id=r.fp_software AND key LIKE '%commit'),'')),lower(?1)) "
            "ORDER BY r.number DESC, r.run_id DESC LIMIT {}",
            std::max(limit, 0));
        std::vector<RunSummary> summaries;
        for (auto& run : select_runs(connection, rest, std::string(text))) {
            summaries.push_back(load_summary(connection, std::move(run)));
        }
        return summaries;
    });
}

Result<std::vector<RunRecord>> all_runs(Store& store) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<std::vector<RunRecord>> {
        return select_runs(connection, "WHERE ?1='' ORDER BY r.number DESC, r.run_id DESC", "");
    });
}

Result<RunSummary> summary_of(Store& store, RunRecord run) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<RunSummary> {
        return load_summary(connection, std::move(run));
    });
}

Result<RunRecord> find_run(Store& store, std::string_view wanted) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<RunRecord> {
        auto const found = candidates(connection, std::string(wanted));
        if (found.empty()) {
            return Error{Errc::not_found,
                         fmt::format("run {}: no such run{}", wanted,
                                     did_you_mean(connection, wanted,
                                                  "SELECT name FROM run UNION SELECT name FROM "
                                                  "series"))};
        }
        if (found.size() > 1) {
            return Error{Errc::invalid_input,
                         fmt::format("run {}: it may be {} ({}) or {} ({}); name one by its uuid",
                                     wanted, found[0].name, found[0].uuid.substr(0, 8),
                                     found[1].name, found[1].uuid.substr(0, 8))};
        }
        return found.front();
    });
}

Result<RunHistory> load_run(Store& store, std::int64_t run_id) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<RunHistory> {
        auto run = run_of_id(connection, run_id);
        if (!run) return Error{Errc::not_found, "the run is no longer in the history"};
        RunHistory history;
        history.steps = load_steps(connection, run_id, kReportMetrics);
        history.arrivals = load_blocks(connection, run_id, "arrival_s");
        history.probe = load_probe(connection, run_id);
        history.collectives = load_collectives(connection, run_id);
        history.kept = load_kept(connection, *run);
        history.events = load_events(connection, run_id);
        history.config = without_secrets(load_facts(connection, run->fingerprint[0]), *run);
        history.software = load_facts(connection, run->fingerprint[1]);
        history.env = without_secrets(load_facts(connection, run->fingerprint[2]), *run);
        history.hardware = load_facts(connection, run->fingerprint[3]);
        history.runs_in_series = static_cast<int>(
            select_integer(connection, "SELECT count(*) FROM run WHERE series_id=?1",
                           run->series_id)
                .value_or(1));
        history.summary = load_summary(connection, std::move(*run));
        return history;
    });
}

Result<Facts> load_run_config(Store& store, std::int64_t run_id) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<Facts> {
        auto const run = run_of_id(connection, run_id);
        if (!run) return Error{Errc::not_found, "the run is no longer in the history"};
        return without_secrets(load_facts(connection, run->fingerprint[0]), *run);
    });
}

Result<std::vector<analysis::BucketWork>> load_bucket_work(Store& store, std::int64_t run_id) {
    constexpr std::array<std::string_view, 6> kMetrics{"step_time_s",      "forward_s",
                                                       "backward_s",       "optimizer_s",
                                                       "micro_batch_size", "recomputed_blocks"};
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<std::vector<analysis::BucketWork>> {
        return analysis::bucket_work(load_steps(connection, run_id, kMetrics));
    });
}

Result<std::vector<std::string>> series_names(Store& store) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<std::vector<std::string>> {
        return column_of(connection, "SELECT DISTINCT name FROM series ORDER BY name");
    });
}

Result<std::vector<SeriesRun>> load_own_series(Store& store, std::string_view name) {
    OSORA_TRY(auto runs, load_series(store, name));
    std::erase_if(runs, [](SeriesRun const& each) { return is_imported(each.summary.run); });
    return runs;
}

Result<std::vector<SeriesRun>> load_series(Store& store, std::string_view name) {
    auto& connection = store.connection();
    return guarded(connection, "read history", [&]() -> Result<std::vector<SeriesRun>> {
        auto runs = load_series_runs(connection, "WHERE s.name=?1", std::string(name));
        if (!runs.empty()) return runs;
        return Error{
            Errc::not_found,
            fmt::format("series {}: no run has this name{}", name,
                        did_you_mean(connection, name, "SELECT DISTINCT name FROM series"))};
    });
}

}  // namespace osora::db
