// The new job is submitted with the run's own script; it resumes from the newest checkpoint.
#include "daemon/backends/slurm/next_job.hpp"

#include "base/files/files.hpp"
#include "base/host_list.hpp"
#include "base/host_name.hpp"
#include "base/process/capture.hpp"
#include "daemon/journal/journaled_status.hpp"
#include "plan/config/submitted_run.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json_file.hpp"
#include "protocol/node_memory_file.hpp"
#include "slurm/after_sbatch.hpp"
#include "slurm/exclusion.hpp"
#include "slurm/job_facts.hpp"
#include "slurm/job_record.hpp"
#include "slurm/queue_text.hpp"
#include "slurm/stage.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace osora::daemon {
namespace {

using std::chrono_literals::operator""s;

constexpr auto kCommandLimit = 30s;

Result<slurm::JobRecord> read_job_record(protocol::RunPaths const& paths) {
    return protocol::read_json_file<slurm::JobRecord>(paths.slurm_job());
}

std::string path_of(Environment const& environment) {
    return variable_or(environment, "PATH", "/usr/bin:/bin");
}

/// Standard output of a Slurm command.
Result<std::string> ask_slurm(Environment const& environment, std::string const& name,
                              std::vector<std::string> arguments) {
    SpawnOptions spawning;
    OSORA_TRY(spawning.program, find_in_path(name, path_of(environment)));
    spawning.arguments = std::move(arguments);
    spawning.environment = environment;
    spawning.working_directory = "/";
    OSORA_TRY(auto const captured, run_captured(std::move(spawning), kCommandLimit));
    if (captured.ok()) return captured.out;
    std::string const words = captured.err.substr(0, captured.err.find('\n'));
    return Error{Errc::unreachable,
                 fmt::format("{} {}: {}", name, describe(captured.status), words)};
}

/// Runs that wait for the run in `paths` (osora submit --after) are made to wait for its new job.
/// Returns what failed: such a run leaves the queue when this job ends.
std::string move_waiting_runs(NextJob const& next, std::int64_t job) {
    std::string problems;
    std::error_code ignored;
    for (auto const& each :
         std::filesystem::directory_iterator(next.paths.dir.parent_path(), ignored)) {
        auto const record = read_job_record(protocol::RunPaths{each});
        if (record.has_error() || record->cancelled) continue;
        if (record->after != next.paths.dir.filename()) continue;
        auto const moved =
            ask_slurm(next.environment, "scontrol",
                      slurm::move_stage_arguments(record->job.job_id, job, record->job.cluster));
        if (moved.has_error()) {
            problems += fmt::format("; {} does not wait for it: {}",
                                    each.path().filename().string(), moved.error().message);
        }
    }
    return problems;
}

/// The job of this name that was submitted since `asked`, for when sbatch has not printed its
/// number.
std::optional<slurm::JobKey> look_for_follower(NextJob const& next, std::string const& name,
                                               std::int64_t asked) {
    auto environment = protocol::without_slurm_job(next.environment);
    std::erase_if(environment, [](std::string const& each) { return each.starts_with("SQUEUE_"); });
    set_variable(environment, "TZ", "UTC");
    set_variable(environment, "SLURM_TIME_FORMAT", "standard");
    auto const output =
        ask_slurm(environment, "squeue", slurm::squeue_arguments(std::to_string(::geteuid())));
    if (output.has_error()) return {};
    auto const queue = slurm::parse_queue(*output);
    if (queue.has_error()) return {};
    auto found = slurm::jobs_of_name(*queue, name, asked);
    std::string const here = variable_or(next.environment, "SLURM_JOB_ID", "");
    std::erase_if(found.ours, [&](auto const& job) { return std::to_string(job.job_id) == here; });
    if (found.ours.size() != 1) return {};
    auto const& job = found.ours.front();
    return slurm::JobKey{"", job.job_id, job.submit_time.value_or(0), name};
}

/// `bad` under the names that Slurm knows here; as it is when Slurm does not say them.
std::vector<std::string> excluded_nodes(NextJob const& next, std::vector<std::string> bad) {
    if (bad.empty()) return bad;
    auto environment = protocol::without_slurm_job(next.environment);
    std::erase_if(environment, [](std::string const& each) { return each.starts_with("SINFO_"); });
    auto const output = ask_slurm(environment, "sinfo", slurm::sinfo_arguments());
    if (output.has_error()) return bad;
    auto const known = slurm::parse_nodes(*output);
    return known.has_error() ? bad : slurm::exclusion_of(bad, *known).nodes;
}

Result<std::string> submit_follower(NextJob const& next, slurm::JobRecord record,
                                    std::vector<std::string> const& bad, bool at_once,
                                    std::int64_t asked) {
    std::string const id = variable_or(next.environment, "SLURM_JOB_ID", "");
    // The command line overrides the script, whose exclusions may be older.
    std::vector<std::string> arguments{"--parsable"};
    if (!at_once) {
        arguments.insert(arguments.end(),
                         {"--dependency=afternotok:" + id, "--kill-on-invalid-dep=yes"});
    }
    auto const excluded = excluded_nodes(next, bad);
    if (!excluded.empty()) arguments.push_back("--exclude=" + join_hosts(excluded));
    arguments.push_back(next.paths.job_script().string());
    auto const output =
        ask_slurm(protocol::for_sbatch(next.environment), "sbatch", std::move(arguments));
    auto key = output.has_value() ? slurm::parse_submitted(*output)
                                  : Result<slurm::JobKey>(output.error());
    bool const unsure = output.has_value() || output.error().code == Errc::timed_out ||
                        slurm::may_have_been_taken(output.error().message);
    if (key.has_error() && unsure) {
        if (auto found = look_for_follower(next, record.job.name, asked)) key = std::move(*found);
    }
    if (key.has_error()) return key.error();
    record.job = {key->cluster.empty() ? record.job.cluster : key->cluster, key->job_id,
                  key->submit_time, record.job.name};
    record.after.clear();  // that job has ended
    ++record.followed;
    OSORA_TRY_VOID(
        write_file_atomic(next.paths.slurm_job(), protocol::encode(record) + "\n", 0600));
    return fmt::format("job {} follows{}", record.job.job_id,
                       move_waiting_runs(next, record.job.job_id));
}

Result<std::string> requeue(NextJob const& next, slurm::JobRecord record) {
    // Before this process ends with its job.
    ++record.followed;
    OSORA_TRY_VOID(
        write_file_atomic(next.paths.slurm_job(), protocol::encode(record) + "\n", 0600));
    std::string const id = variable_or(next.environment, "SLURM_JOB_ID", "");
    OSORA_TRY(auto const allowed,
              ask_slurm(next.environment, "scontrol", {"update", "JobId=" + id, "Requeue=1"}));
    OSORA_TRY(auto const done, ask_slurm(next.environment, "scontrol", {"requeue", id}));
    return "job " + id + " is requeued";
}

/// Slurm signals the steps of a job, and not always its batch step, when it preempts the job.
bool is_preempted(NextJob const& next) {
    std::string const id = variable_or(next.environment, "SLURM_JOB_ID", "");
    auto const said = ask_slurm(next.environment, "scontrol", {"show", "job", id});
    return said.has_value() && slurm::was_preempted(slurm::parse_job_fields(*said));
}

/// How many of `hosts` are not in `bad` (bad by node memory or by the run file).
int count_usable(std::vector<std::string> const& hosts, std::vector<std::string> const& bad) {
    return static_cast<int>(std::ranges::count_if(
        hosts, [&](std::string const& host) { return !names_host(bad, host); }));
}

}  // namespace

Result<std::string> escalate(NextJob const& next, Env const& env) {
    OSORA_TRY(auto const status, read_run_status(next.paths.dir));
    OSORA_TRY(auto const run, plan::read_submitted_run(next.paths));
    auto const& config = run.config;
    slurm::JobRecord record;
    if (auto known = read_job_record(next.paths); known.has_value()) {
        record = std::move(*known);
    }
    std::string const list = variable_or(next.environment, "SLURM_JOB_NODELIST", "");
    OSORA_TRY(auto const hosts, expand_host_list(list));
    auto bad = protocol::remembered_bad_hosts(next.paths.state(), env.wall_us());
    auto const& excluded = config.faults.exclude_nodes;
    bad.insert(bad.end(), excluded.begin(), excluded.end());
    slurm::EscalationState state;
    bool const over = status.state == protocol::RunState::done;
    state.verdict = over ? status.verdict : protocol::Verdict::controller_lost;
    state.do_not_requeue = next.exit_code == protocol::kExitDoNotRequeue;
    state.nodes_needed = config.resources.nodes;
    state.nodes_usable = count_usable(hosts, bad);
    state.jobs_left = config.slurm.chain - record.followed;
    state.can_submit = find_in_path("sbatch", path_of(next.environment)).has_value();
    state.stopped_by_user = status.stopped_by_user;
    state.warning = next.warning;
    if (next.warning == slurm::JobWarning::none && is_preempted(next)) {
        state.warning = slurm::JobWarning::preemption;
    }
    auto step = slurm::next_escalation(state);
    if (step.action == slurm::Escalation::stop) return std::string(kNoJobFollows) + step.reason;
    ::unlink(next.paths.stop_request().c_str());  // it was meant for this job
    ::unlink(next.paths.relaunch_request().c_str());
    std::string refused;
    if (step.action == slurm::Escalation::follow_job) {
        // A job with a dead node leaves the queue when Slurm misses that node, minutes later.
        bool const at_once = state.nodes_usable < state.nodes_needed;
        auto const follows = submit_follower(next, record, bad, at_once, env.wall_us() / 1'000'000);
        if (follows.has_value()) return *follows + ": " + step.reason;
        refused = " (" + follows.error().message + ")";
        state.can_submit = false;
        step = slurm::next_escalation(state);
    }
    OSORA_TRY(auto const done, requeue(next, std::move(record)));
    return done + ": " + step.reason + refused;
}

}  // namespace osora::daemon
