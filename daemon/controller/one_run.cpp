// Gathers the controller's inputs from the run directory; every error names its file.
#include "daemon/controller/one_run.hpp"

#include "base/files/files.hpp"
#include "base/files/own_folder.hpp"
#include "base/host_name.hpp"
#include "base/ids.hpp"
#include "base/text/seconds.hpp"
#include "base/version.hpp"
#include "daemon/controller/pre_launch_probe.hpp"
#include "daemon/controller/run_lock.hpp"
#include "daemon/controller/stop_request.hpp"
#include "daemon/net/controller_file.hpp"
#include "plan/config/candidate_hosts.hpp"
#include "plan/config/submitted_run.hpp"
#include "protocol/flight/flight_analysis.hpp"
#include "protocol/flight/flight_files.hpp"
#include "protocol/json_file.hpp"
#include "protocol/notice_kinds.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

namespace osora::daemon {
namespace {

std::vector<protocol::RunNotice> notices_of(protocol::RunPaths const& paths,
                                            JournalFile::Opened const& opened) {
    std::vector<protocol::RunNotice> notices;
    auto add = [&](std::string_view kind, std::string detail) {
        notices.push_back(protocol::make_notice(kind, std::move(detail)));
    };
    auto const network = is_network_file_system(paths.dir);
    if (network.has_value() && *network) {
        auto const type = file_system_type(paths.dir);
        add("network_file_system",
            fmt::format("the run directory is on {}: its lock is only as good as that file "
                        "system's, and a slow server slows the run down",
                        type.has_value() ? *type : "a network file system"));
    }
    if (opened.dropped_bytes > 0) {
        add("journal_recovered",
            fmt::format("{} bytes of a record that the last controller did not "
                        "finish were cut off",
                        opened.dropped_bytes));
    }
    return notices;
}

ControllerOptions controller_options(protocol::RunSubmitted submission,
                                     BackendTraits const& traits) {
    ControllerOptions options;
    options.submission = std::move(submission);
    options.host = host_name();
    options.boot_id = boot_id();
    options.pid = ::getpid();
    options.lease = traits.lease;
    if (!traits.outlive) options.steps_wait = {};
    options.adopt_limit = traits.adopt_limit;
    options.agent_stop_limit = traits.agent_stop_limit;
    options.has_other_hosts = traits.other_hosts;
    return options;
}

/// Text on which ranks of an attempt the others wait for. Of larger runs a few ranks are read
/// (FlightWatch).
std::function<std::string(int)> flight_reader(protocol::RunPaths const& paths,
                                              protocol::RunSubmitted const& submission) {
    constexpr int kRanksMax = 512;
    int const ranks = submission.nodes * submission.ranks_per_node;
    return [run_dir = paths.dir, ranks](int attempt) -> std::string {
        if (ranks > kRanksMax) return "";
        auto const finding = protocol::find_stall(protocol::read_flights(run_dir, attempt, ranks));
        return finding ? protocol::describe(*finding) : "";
    };
}

MonotonicTime time_of(double seconds) {
    return duration_of<MonotonicTime>(seconds);
}

void apply_limits(ControllerOptions& options, plan::FaultsSection const& faults) {
    options.step_timeout_s = faults.step_timeout.value_or(0);
    options.lost_after = time_of(faults.lost_after);
    options.stacks_limit = time_of(faults.stacks_limit);
    if (!faults.lease.is_auto()) options.lease = time_of(*faults.lease.value);
}

/// Agents of an earlier incarnation keep what they know.
void take_over(ControllerSetup& setup, protocol::RunPaths const& paths) {
    auto const last = read_controller_file(paths, setup.core.submission.run_uuid);
    setup.core.token = last.has_value() ? last->token : make_token();
    if (last.has_value()) setup.wanted_port = last->port;
}

void set_up_backend(ControllerSetup& setup, OneRunOptions const& options) {
    protocol::RunSubmitted const& submission = setup.core.submission;
    BackendSetup& backend = setup.backend;
    backend.osorad = options.osorad;
    backend.environment = options.environment;
    backend.start.token = setup.core.token;
    backend.start.run_uuid = submission.run_uuid;
    backend.start.run_dir = options.paths.dir.string();
    backend.start.exec = submission.job == "exec";
    backend.start.lease_s = std::chrono::duration<double>(setup.core.lease).count();
    backend.start.worker = options.worker_program.string();
}

/// Receivers come from job.json, since records have the URL of a webhook without its secret.
void set_up_notify(ControllerSetup& setup, OneRunOptions const& options) {
    NotifySetup& notify = setup.notify;
    auto const job = protocol::read_json_file<plan::WorkerJob>(options.paths.job());
    notify.notify = job.has_value() ? job->config.notify : setup.backend.config.notify;
    notify.series = setup.backend.config.run.name;
    notify.host = setup.core.host;
    notify.osorad = options.osorad;
    notify.base_dir = setup.core.submission.base_dir;
    std::error_code ignored;
    if (!std::filesystem::is_directory(notify.base_dir, ignored)) {
        notify.base_dir = options.paths.dir;
    }
    notify.environment = options.environment;
}

void set_up_metrics(ControllerSetup& setup) {
    plan::RunConfig const& config = setup.backend.config;
    setup.metrics = {.listen = config.daemon.metrics,
                     .host = setup.core.host,
                     .facts = {.series = config.run.name,
                               .model = config.model.arch,
                               .backend = config.resources.backend,
                               .version = kVersion}};
}

/// Where nodes have several networks, the measurement decides on which of them ranks meet: plan and
/// job are rewritten before an agent has read them.
Result<void> apply_settings(ControllerSetup& setup, OneRunOptions const& options,
                            plan::Origins const& origins, topology::ProbeResult const& result) {
    if (result.interfaces.empty()) return {};
    OSORA_TRY(auto job, protocol::read_json_file<plan::WorkerJob>(options.paths.job()));
    job.plan.nccl_env = settings_after(result, job, origins, options.environment);
    OSORA_TRY_VOID(write_file_atomic(options.paths.job(), protocol::encode(job) + "\n", kPrivate));
    OSORA_TRY_VOID(
        write_file_atomic(options.paths.plan(), protocol::encode(job.plan) + "\n", kPrivate));
    setup.core.plan = protocol::to_json(job.plan);
    return {};
}

void probe_links(ControllerSetup& setup, OneRunOptions const& options, plan::Origins const& origins,
                 Env& env, Logger& log) {
    plan::RunConfig& config = setup.backend.config;
    PreLaunchProbe const before{
        .paths = options.paths,
        .submission = setup.core.submission,
        .config = config,
        .environment = options.environment,
        .wall_us = env.wall_us(),
        .run = [&](protocol::RunPaths const& paths) {
            OneRunOptions probe = options;
            probe.paths = paths;
            probe.lifeline_fd =
                options.lifeline_fd < 0 ? -1 : ::fcntl(options.lifeline_fd, F_DUPFD_CLOEXEC, 3);
            probe.resume = probe.supervised = false;
            probe.ingest = {};
            probe.notify = probe.metrics = false;
            return run_one(std::move(probe), env, log);
        }};
    auto const probed = probe_before_launch(before);
    setup.core.probed_s = probed.took_s;
    if (probed.stopped) {
        // Whoever stopped the probe - Ctrl-C, osora cancel, a signal - wants to end the run.
        // A warning of Slurm must not count as a person's wish; without one a stop is final anyway.
        auto const asked = write_stop_request(
            options.paths, {.reason = "stopped while its links were probed", .by_user = false});
        if (asked.has_error())
            log.error("cannot write stop request", {{"why", asked.error().message}});
    }
    bool const well = probed.result && probed.result->findings.empty();
    setup.notices.push_back(
        protocol::make_notice("probe", probe_sentence(probed), well ? "info" : "warning"));
    if (probed.result) {
        setup.core.probe = protocol::to_json(*probed.result);
        auto const applied = apply_settings(setup, options, origins, *probed.result);
        if (applied.has_error())
            log.warning("keeping previous NCCL settings", {{"why", applied.error().message}});
    }
    auto& excluded = config.faults.exclude_nodes;
    excluded.insert(excluded.end(), probed.exclude.begin(), probed.exclude.end());
}

/// The result of a run with job = "probe" is saved for later runs.
Result<void> keep_result(plan::RunConfig const& config, OneRunOptions const& options) {
    OSORA_TRY(auto result, protocol::read_json_file<topology::ProbeResult>(options.paths.probe()));
    result.backend = config.resources.backend;
    auto const state = options.paths.state().dir;
    return cache_probe(state, plan::candidate_hosts(config, options.environment), result);
}

}  // namespace

Result<int> run_one(OneRunOptions options, Env& env, Logger& log) {
    OSORA_TRY_VOID(check_own_folder(options.paths.dir, Parents::believed));
    OSORA_TRY(auto const lock, RunLock::take(options.paths));
    OSORA_TRY(auto submitted, plan::read_submitted_run(options.paths));
    OSORA_TRY(auto plan, protocol::read_json_file<protocol::json::value>(options.paths.plan()));
    ControllerSetup setup;
    setup.backend.config = std::move(submitted.config);
    auto const& config = setup.backend.config;
    OSORA_TRY(setup.backend.traits, backend_traits(config.resources.backend, options.supervised));
    OSORA_TRY(auto file, open_append_file(options.paths.journal()));
    OSORA_TRY(auto opened, JournalFile::open(std::move(file)));
    log.info("controller started", {{"run", submitted.record.run_name},
                                    {"records", opened.records.size()},
                                    {"pid", ::getpid()}});

    setup.paths = options.paths;
    setup.notices = notices_of(options.paths, opened);
    setup.core = controller_options(std::move(submitted.record), setup.backend.traits);
    setup.core.plan = std::move(plan);
    setup.core.next_sequence = opened.journal->next_sequence();
    apply_limits(setup.core, config.faults);
    setup.core.lifeline_limit = time_of(options.lifeline_limit_s);
    setup.core.read_flights = flight_reader(options.paths, setup.core.submission);
    setup.core.resume = options.resume;
    setup.replayed = std::move(opened.records);
    setup.journal = std::move(opened.journal);
    setup.open_to_others = options.open_to_others;
    bool link_probe = false;
    if (config.run.job == "probe") {
        OSORA_TRY(auto const job, protocol::read_json_file<plan::WorkerJob>(options.paths.job()));
        link_probe = plan::is_link_probe(job);
    }
    // A new run on several nodes has its links measured first.
    if (setup.replayed.empty() && wants_probe(config, link_probe)) {
        probe_links(setup, options, submitted.origins, env, log);
    }
    take_over(setup, options.paths);
    set_up_backend(setup, options);
    setup.runtime_dir = variable_or(options.environment, "XDG_RUNTIME_DIR", "");
    setup.lifeline_fd = options.lifeline_fd;
    setup.ingest = options.ingest;
    setup.ask_series = options.ask_series;
    if (options.notify) set_up_notify(setup, options);
    if (options.metrics) set_up_metrics(setup);
    plan::RunConfig const of_run = setup.backend.config;
    OSORA_TRY(int const exit_code, run_controller(std::move(setup), env, log));
    if (exit_code == 0 && of_run.run.job == "probe" && options.ingest) {
        auto const kept = keep_result(of_run, options);
        if (kept.has_error())
            log.warning("cannot save probe result", {{"why", kept.error().message}});
    }
    return exit_code;
}

}  // namespace osora::daemon
