// The run's row and its facts stay in memory during a batch; events and steps go directly to their
// tables.
#include "db/ingest/run_writer.hpp"

#include "db/analysis/measure.hpp"
#include "db/derived/derived.hpp"
#include "db/ingest/event_row.hpp"
#include "db/ingest/health_writer.hpp"
#include "db/ingest/probe_writer.hpp"
#include "db/record/facts.hpp"
#include "db/store/collective_store.hpp"
#include "db/store/run_store.hpp"
#include "db/store/step_store.hpp"
#include "protocol/journal/event_limits.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace osora::db {
namespace {

using namespace protocol;

constexpr int kJournalVersion = 1;  // event JSON version: both journal versions have the same

/// The keys of the resolved run file that have a column in the history.
struct ConfigModel {
    std::string arch;
};
struct ConfigRun {
    std::string name = "run";
};
struct ConfigJson {
    ConfigRun run;
    ConfigModel model;
};
BOOST_DESCRIBE_STRUCT(ConfigModel, (), (arch))
BOOST_DESCRIBE_STRUCT(ConfigRun, (), (name))
BOOST_DESCRIBE_STRUCT(ConfigJson, (), (run, model))

ConfigJson read_config(json::value const& config) {
    auto const parsed = from_json<ConfigJson>(config);
    return parsed.has_value() ? *parsed : ConfigJson{};
}

std::optional<int> number_of(std::map<std::string, std::string> const& facts, char const* key) {
    auto const found = facts.find(key);
    if (found == facts.end()) return std::nullopt;
    int number = 0;
    auto const& text = found->second;
    auto const parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || number <= 0) return std::nullopt;
    return number;
}

void insert_event(Connection& connection, std::int64_t run_id, EventRecord const& event) {
    auto const if_known = [](int value) {
        return value < 0 ? std::optional<int>() : std::optional<int>(value);
    };
    std::optional<std::int64_t> sequence, wall_us;
    if (event.sequence >= 0) sequence = event.sequence;
    if (event.sequence >= 0) wall_us = event.wall_us;
    execute(
        connection,
        "INSERT INTO event(run_id,sequence,version,wall_us,kind,severity,attempt,node,rank,step,"
        "body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
        run_id, sequence, kJournalVersion, wall_us, event.kind, event.severity,
        if_known(event.attempt), if_known(event.node), if_known(event.rank), if_known(event.step),
        event.body);
}

}  // namespace

RunRecord RunWriter::create(Connection& connection, RunSubmitted const& submitted,
                            std::string const& run_dir) {
    RunRecord run;
    run.uuid = submitted.run_uuid;
    run.run_dir = run_dir;
    run.series = read_config(submitted.config).run.name;
    run.series_id = series_id_of(connection, run.series, work_of(submitted.config));
    save_run(connection, run);
    return run;
}

RunWriter::RunWriter(Connection& connection, RunRecord run)
    : connection_(connection),
      run_(std::move(run)),
      steps_(connection, run_.run_id),
      had_ended_(run_.ended_us.has_value()) {
    for (auto const kind : kFactKinds) {
        facts(kind) = load_facts(connection, run_.fingerprint[static_cast<std::size_t>(kind)]);
    }
}

void RunWriter::apply(JournalRecord const& record) {
    if (auto const problem = protocol::problem_of(record.event); !problem.empty()) {
        add_finding("journal_limited", problem);
        apply({record.sequence, record.wall_us, protocol::limited(record.event)});
        return;
    }
    run_.last_us = record.wall_us;
    if (auto const* health = std::get_if<NodeHealth>(&record.event)) {
        save_health(connection_, run_.run_id, record, *health);
    } else if (auto const* matrix = std::get_if<RankMatrix>(&record.event)) {
        steps_.add(*matrix, record.sequence);
    } else if (auto const* part = std::get_if<ProbePart>(&record.event)) {
        save_probe_part(connection_, run_.run_id, record.sequence, *part);
    } else if (auto const* sums = std::get_if<CollectiveSums>(&record.event)) {
        save_collectives(connection_, run_.run_id, *sums);
    } else if (!std::holds_alternative<MetricChunk>(record.event) &&
               !std::holds_alternative<MergedSteps>(record.event)) {
        insert_event(connection_, run_.run_id, event_row(record));
        events_changed_ = true;
    }
    std::visit([&](auto const& event) { on(event, record.wall_us); }, record.event);
}

void RunWriter::add_finding(std::string const& kind, std::string const& detail) {
    EventRecord event;
    event.kind = kind;
    event.severity = "error";
    event.body = json::serialize(json::object{{"type", kind}, {"detail", detail}});
    insert_event(connection_, run_.run_id, event);
}

void RunWriter::on(RunSubmitted const& event, std::int64_t wall_us) {
    auto const config = read_config(event.config);
    run_.number = event.number;
    run_.name = event.run_name;
    run_.job = event.job;
    run_.arch = event.job == "exec" ? "" : config.model.arch;  // not that of a user program
    run_.user = event.user;
    run_.host = event.host;
    run_.nodes = event.nodes;
    run_.ranks = event.nodes * event.ranks_per_node;
    run_.restarts_max = event.restarts_max;
    run_.steps_planned = event.steps;
    run_.attached = event.attached;
    // Journals of older versions have only the controller's start, after the queue.
    run_.submitted_us = event.submitted_us > 0 ? event.submitted_us : wall_us;
    run_.started_us = wall_us;
    facts(FactKind::config) = flatten(event.config);
    for (auto const& [key, value] : event.facts) merge_fact(facts(kind_of_fact(key)), key, value);
}

void RunWriter::on(PlanChosen const& event, std::int64_t) {
    save_plan(connection_, run_.run_id, event.plan);
    if (stage_work_of(event.plan).empty()) return;
    auto const series = series_id_of(connection_, run_.series,
                                     work_with_stages(facts(FactKind::config), event.plan));
    if (series != run_.series_id && had_ended_) mark_series_stale(connection_, run_);
    run_.series_id = series;
}

void RunWriter::on(ControllerStarted const& event, std::int64_t) {
    run_.controllers = event.incarnation + 1;
    run_.controller_host = event.host;
    run_.controller_boot_id = event.boot_id;
    run_.controller_pid = event.pid;
}

void RunWriter::on(AgentJoined const& event, std::int64_t wall_us) {
    execute(connection_,
            "INSERT INTO node(hostname,first_seen_us,last_seen_us) VALUES(?1,?2,?2) ON "
            "CONFLICT(hostname) DO UPDATE SET first_seen_us=min(first_seen_us,?2),"
            "last_seen_us=max(last_seen_us,?2)",
            event.host, wall_us);
    execute(connection_,
            "INSERT INTO run_node SELECT ?1,?2,node_id,?4,?5,-1,0 FROM node WHERE hostname=?3 ON "
            "CONFLICT(run_id,node) DO UPDATE SET node_id=excluded.node_id,boot_id=?4,cores=?5",
            run_.run_id, event.node, event.host, event.boot_id, number_of(event.facts, "cpus"));
    for (auto const& [key, value] : event.facts) {
        merge_fact(facts(kind_of_fact(key, FactKind::hardware)), key, value);
    }
}

void RunWriter::on(LaunchOrdered const& event, std::int64_t) {
    run_.attempt = event.attempt;
    run_.launches += 1;
    execute(connection_, "INSERT OR IGNORE INTO launch(run_id,attempt) VALUES(?1,?2)", run_.run_id,
            event.attempt);
    if (event.world_size > 0) run_.ranks = event.world_size;
    run_.ended_us.reset();  // a run that had ended is resumed
    run_.verdict = Verdict::none;
    run_.exit_code = 0;
    run_.cause.clear();
}

void RunWriter::on(RankStarted const& event, std::int64_t) {
    auto const device = event.facts.find("device");
    execute(connection_,
            "INSERT INTO run_rank VALUES(?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT(run_id,rank) DO "
            "UPDATE SET node=?3,attempt=?4,pid=?5,start_step=?6,device=?7,cpus=?8",
            run_.run_id, event.rank, event.node, event.attempt, event.pid, event.start_step,
            device == event.facts.end() ? std::string() : device->second, event.cpus);
    for (auto const& [key, value] : event.facts) merge_fact(facts(kind_of_fact(key)), key, value);
}

void RunWriter::on(RunEnded const& event, std::int64_t wall_us) {
    run_.ended_us = wall_us;
    run_.verdict = event.verdict;
    run_.exit_code = event.exit_code;
    run_.cause = event.cause;
}

void RunWriter::on(MetricChunk const& event, std::int64_t wall_us) {
    on(merged_steps_of(event), wall_us);
}

void RunWriter::on(MergedSteps const& event, std::int64_t wall_us) {
    if (!run_.first_step_us) run_.first_step_us = wall_us;
    auto const times = step_times_.try_emplace(event.attempt, wall_us, wall_us).first;
    times->second.last_us = wall_us;
    auto const added = steps_.add(event);
    if (added.has_error()) add_finding("bad_metrics", added.error().message);
    steps_changed_ = true;
}

void RunWriter::save_launches() {
    constexpr char const* kFirst =
        "SELECT first_step_us FROM launch WHERE run_id=?1 AND attempt=?2";
    for (auto const& [attempt, times] : step_times_) {
        events_changed_ =
            events_changed_ || !select_integer(connection_, kFirst, run_.run_id, attempt);
        execute(connection_,
                "INSERT INTO launch(run_id,attempt,first_step_us,last_step_us) VALUES(?1,?2,?3,?4) "
                "ON CONFLICT DO UPDATE SET first_step_us=coalesce(first_step_us,?3),"
                "last_step_us=?4",
                run_.run_id, attempt, times.first_us, times.last_us);
    }
    if (events_changed_) mark_stale(connection_, run_.run_id, Derived::spans);
}

void RunWriter::measure_steps() {
    if (select_integer(connection_, "SELECT 1 FROM measured WHERE run_id=?1", run_.run_id)) return;
    std::array<std::string_view, 6> const metrics{"step_time_s",    "data_wait_s",
                                                  "exposed_comm_s", "loss",
                                                  "rss_bytes",      "peak_allocated_bytes"};
    auto const steps = load_steps(connection_, run_.run_id, metrics);
    if (steps.size() == 0) return;
    save_measured(connection_, run_.run_id, analysis::measure(steps));
    derive_windows(connection_, run_.run_id, steps);
}

void RunWriter::finish(bool at_end) {
    steps_.finish();
    for (auto const kind : kFactKinds) {
        run_.fingerprint[static_cast<std::size_t>(kind)] =
            fingerprint_id_of(connection_, kind, facts(kind));
    }
    save_run(connection_, run_);
    save_launches();
    if (steps_changed_) execute(connection_, "DELETE FROM measured WHERE run_id=?1", run_.run_id);
    if (had_ended_ || run_.ended_us) mark_series_stale(connection_, run_);
    if (!at_end) return;
    derive_spans(connection_, run_.run_id);
    measure_steps();
}

}  // namespace osora::db
