// Commands run in UTC, so that the times they print can be parsed.
#include "cli/run/slurm/slurm_job.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"
#include "base/process/capture.hpp"
#include "base/text/printable.hpp"
#include "cli/command/print.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/json.hpp"
#include "protocol/node_memory_file.hpp"
#include "protocol/state_paths.hpp"
#include "slurm/after_sbatch.hpp"
#include "slurm/exclusion.hpp"
#include "slurm/job_script.hpp"
#include "slurm/queue_text.hpp"
#include "slurm/stage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

namespace osora::cli {
namespace {

using std::chrono_literals::operator""s;

constexpr auto kCommandLimit = 20s;

/// Environment for Slurm's commands: where Slurm is, but no settings that would make the job differ
/// from what --dry-run has shown.
Environment command_environment(Context const& context) {
    Environment environment = protocol::without_slurm_job(context.environment);
    std::erase_if(environment, [](std::string const& entry) {
        return entry.starts_with("SQUEUE_") || entry.starts_with("SINFO_");
    });
    set_variable(environment, "TZ", "UTC");
    set_variable(environment, "SLURM_TIME_FORMAT", "standard");
    return environment;
}

Result<Captured> run_slurm(Context const& context, std::string_view name,
                           std::vector<std::string> arguments, std::string_view input = {}) {
    SpawnOptions spawning;
    std::string const path = variable_or(context.environment, "PATH", "/usr/bin:/bin");
    OSORA_TRY(spawning.program, find_in_path(name, path));
    spawning.arguments = std::move(arguments);
    spawning.environment = command_environment(context);
    if (name == "sbatch") spawning.environment = protocol::for_sbatch(spawning.environment);
    return run_captured(std::move(spawning), kCommandLimit, input);
}

/// Slurm's message, on one line.
Error refusal(std::string_view name, Captured const& captured) {
    std::string words;
    for (char const each : captured.err.empty() ? captured.out : captured.err) {
        words += each == '\n' ? ' ' : each;
    }
    while (words.ends_with(' ')) words.pop_back();
    return {Errc::unreachable,
            words.empty() ? fmt::format("{} {}", name, describe(captured.status)) : words};
}

/// The nodes of `cluster`.
Result<std::vector<std::string>> known_nodes(Context const& context, std::string const& cluster) {
    OSORA_TRY(auto const captured, run_slurm(context, "sinfo", slurm::sinfo_arguments(cluster)));
    if (!captured.ok()) return refusal("sinfo", captured).in("sinfo");
    return slurm::parse_nodes(captured.out);
}

/// Nodes to exclude: those of the run file, and those that made recent runs fail, also by ssh.
std::vector<std::string> excluded_nodes(Context const& context, plan::RunConfig const& config,
                                        std::string const& cluster) {
    auto hosts = config.faults.exclude_nodes;
    auto const state = state_dir(context.environment);
    if (state.has_value()) {
        auto const bad =
            protocol::remembered_bad_hosts(protocol::StatePaths{*state}, wall_now_us());
        hosts.insert(hosts.end(), bad.begin(), bad.end());
    }
    if (hosts.empty()) return hosts;
    auto const known = known_nodes(context, cluster);
    if (known.has_error()) return hosts;  // sbatch says what it does not like
    auto const unknown = slurm::exclusion_of(config.faults.exclude_nodes, *known).unknown;
    if (!unknown.empty()) {
        bool const one = unknown.size() == 1;
        cli::print(stderr,
                   "note: faults.exclude_nodes: Slurm has no {} {}, so --exclude is without {}\n",
                   one ? "node" : "nodes", printable(fmt::format("{}", fmt::join(unknown, ", "))),
                   one ? "it" : "them");
    }
    return slurm::exclusion_of(hosts, *known).nodes;
}

Result<Captured> ask_sbatch(Context const& context, RunFolder const& run,
                            Predecessor const& after) {
    std::vector<std::string> arguments{"--parsable"};
    if (after.job > 0) {
        auto const waits = slurm::stage_arguments(after.job, after.cluster);
        arguments.insert(arguments.end(), waits.begin(), waits.end());
    }
    arguments.push_back(run.paths.job_script().string());
    return run_slurm(context, "sbatch", std::move(arguments));
}

/// The number that sbatch printed, on either stream; a failure has its message.
Result<slurm::JobKey> number_said(Captured const& captured) {
    if (!captured.ok()) return refusal("sbatch", captured).in("sbatch");
    auto key = slurm::parse_submitted(captured.out);
    if (key.has_value()) return key;
    auto other = slurm::parse_submitted(captured.err);
    return other.has_value() ? other : key;
}

struct SbatchEnd {
    std::string cluster;     // that was requested; "" = none
    std::int64_t asked = 0;  // when it was called
    bool accepted = false;   // it exited with 0
    bool unheard = false;    // Slurm has not refused the job
};

std::string listed(std::vector<slurm::QueuedJob> const& jobs) {
    std::vector<std::string> ids;
    for (auto const& each : jobs) ids.push_back(std::to_string(each.job_id));
    return fmt::format("{}", fmt::join(ids, ", "));
}

/// Sets `key` to the job of this name in the queue; otherwise `result` says what is known.
void look_for_job(Context const& context, std::string const& name, SbatchEnd const& end,
                  Submitted& result, Result<slurm::JobKey>& key) {
    std::string const said = result.error.message;
    bool const open = end.accepted || end.unheard;
    auto const queue = read_queue(context, end.cluster);
    if (queue.has_error()) {
        result.kept = open;
        if (!open) return;
        result.error.message = fmt::format(
            "{}; whether job {} is in the queue all the same is not known ({}): the run's folder "
            "is kept, and the job runs when it is there; osora status and squeue --name={} show it",
            said, name, queue.error().message, name);
        return;
    }
    auto const found = slurm::jobs_of_name(*queue, name, end.asked);
    // A number alone does not identify a job on several clusters.
    bool const named = end.cluster.empty() || slurm::is_one_cluster(end.cluster);
    bool const sure = named && found.ours.size() == 1 && (open || found.others.empty());
    bool const only = named && end.accepted && found.ours.empty() && found.others.size() == 1;
    if (sure || only) {
        auto const& job = sure ? found.ours.front() : found.others.front();
        key = slurm::JobKey{end.cluster, job.job_id, job.submit_time.value_or(0), name};
        result.notice = fmt::format("{}; job {} of that name is in the queue and is followed", said,
                                    job.job_id);
        return;
    }
    auto const& maybe = found.ours.empty() ? found.others : found.ours;
    result.kept = open || !found.ours.empty();
    if (!result.kept) return;
    result.error.message =
        maybe.empty()
            ? fmt::format(
                  "{}; no job {} is in the queue now, but Slurm may still take it: the "
                  "run's folder is kept, and the job runs when it is there; squeue --name={} shows "
                  "it",
                  said, name, name)
            : fmt::format(
                  "{}; in the queue under that name: job {}. If it is this run's, it runs "
                  "and osora watch follows it; scancel {} takes it out. The run's folder "
                  "is kept",
                  said, listed(maybe), listed(maybe));
}

}  // namespace

bool is_in_job(Environment const& environment) {
    return !variable_or(environment, "SLURM_JOB_ID", "").empty();
}

Result<std::string> job_script_for(Context const& context, plan::RunConfig const& config,
                                   std::filesystem::path const& run_dir,
                                   std::string const& cluster) {
    slurm::JobRequest request;
    request.name = run_dir.filename().string();
    request.run_dir = run_dir;
    request.osorad = context.program_dir / "osorad";
    request.resources = config.resources;
    request.slurm = config.slurm;
    request.exclude_nodes = excluded_nodes(context, config, cluster);
    return slurm::job_script(request);
}

Result<void> write_job_files(Context const& context, plan::RunConfig const& config,
                             RunFolder const& run, std::string const& cluster) {
    Environment const submitted = protocol::without_slurm_job(context.environment);
    OSORA_TRY(auto const environment, protocol::encode_environment(submitted));
    OSORA_TRY(auto const script, job_script_for(context, config, run.paths.dir, cluster));
    OSORA_TRY_VOID(write_file_atomic(run.paths.environment(), environment, kPrivate));
    return write_file_atomic(run.paths.job_script(), script, 0700);
}

Submitted submit_job(Context const& context, RunFolder const& run, Predecessor const& after,
                     std::string const& cluster) {
    std::string const& asked_for = after.cluster.empty() ? cluster : after.cluster;
    std::int64_t const asked = std::time(nullptr);
    auto const captured = ask_sbatch(context, run, after);
    Submitted result;
    if (captured.has_error() && captured.error().code != Errc::timed_out) {
        result.error = captured.error();  // it was not started
        return result;
    }
    auto key =
        captured.has_value() ? number_said(*captured) : Result<slurm::JobKey>(captured.error());
    if (key.has_error()) {
        bool const accepted = captured.has_value() && captured->ok();
        bool const unheard = captured.has_error() || captured->status.signal != 0 ||
                             slurm::may_have_been_taken(key.error().message);
        result.error = {Errc::unreachable, key.error().message};
        look_for_job(context, run.name, {asked_for, asked, accepted, unheard}, result, key);
    }
    if (key.has_error()) return result;
    slurm::JobRecord record;
    record.job = std::move(*key);
    record.job.name = run.name;
    if (record.job.cluster.empty() && slurm::is_one_cluster(asked_for)) {
        record.job.cluster = asked_for;
    }
    if (after.job > 0) record.after = after.run;
    auto const written = write_job_record(run.paths, record);
    if (written.has_error()) {
        result.kept = true;
        result.error =
            Error(written.error())
                .in(fmt::format("job {} was submitted, but not recorded (scancel {} takes "
                                "it out of the queue)",
                                record.job.job_id, record.job.job_id));
        return result;
    }
    result.record = std::move(record);
    return result;
}

Result<slurm::StartEstimate> estimate_start(Context const& context, std::string const& script) {
    OSORA_TRY(auto const captured, run_slurm(context, "sbatch", {"--test-only"}, script));
    return slurm::parse_test_only(captured.err);
}

Result<std::string> run_squeue(Context const& context, std::string const& cluster) {
    auto arguments = slurm::squeue_arguments(std::to_string(::geteuid()), cluster);
    OSORA_TRY(auto captured, run_slurm(context, "squeue", std::move(arguments)));
    bool const silent = slurm::is_no_answer(captured.out, captured.err);
    if (!captured.ok() || silent) return refusal("squeue", captured).in("squeue");
    return std::move(captured.out);
}

Result<std::vector<slurm::QueuedJob>> read_queue(Context const& context,
                                                 std::string const& cluster) {
    OSORA_TRY(auto const text, run_squeue(context, cluster));
    return slurm::parse_queue(text);
}

Result<void> cancel_job(Context const& context, slurm::JobKey const& job) {
    std::vector<std::string> arguments{std::to_string(job.job_id)};
    if (!job.cluster.empty()) arguments.insert(arguments.begin(), "--clusters=" + job.cluster);
    OSORA_TRY(auto const captured, run_slurm(context, "scancel", std::move(arguments)));
    if (!captured.ok()) return refusal("scancel", captured).in("scancel");
    return {};
}

std::optional<slurm::JobRecord> read_job_record(protocol::RunPaths const& paths) {
    constexpr std::int64_t kBytesMax = 1 << 16;
    auto const text = read_file(paths.slurm_job(), kBytesMax);
    if (text.has_error()) return {};
    auto record = protocol::decode<slurm::JobRecord>(*text);
    if (record.has_error() || record->job.job_id <= 0) return {};
    return std::move(*record);
}

bool is_just_submitted(protocol::RunPaths const& paths) {
    std::error_code error;
    auto const written = std::filesystem::last_write_time(paths.slurm_job(), error);
    auto const age = std::filesystem::file_time_type::clock::now() - written;
    return !error && age < 60s && age > -60s;
}

bool awaits_controller(protocol::RunPaths const& paths) {
    std::error_code no_record, no_journal;
    auto const submitted = std::filesystem::last_write_time(paths.slurm_job(), no_record);
    auto const recorded = std::filesystem::last_write_time(paths.journal(), no_journal);
    return !no_record && (no_journal || submitted > recorded);
}

Result<void> write_job_record(protocol::RunPaths const& paths, slurm::JobRecord const& record) {
    return write_file_atomic(paths.slurm_job(), protocol::encode(record) + "\n", kPrivate);
}

}  // namespace osora::cli
