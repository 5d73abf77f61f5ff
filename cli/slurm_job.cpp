// Commands run in UTC, so that the times they print can be read.
#include "cli/slurm_job.hpp"

#include "base/capture.hpp"
#include "base/env.hpp"
#include "base/files.hpp"
#include "protocol/environment_file.hpp"
#include "protocol/json.hpp"
#include "slurm/job_script.hpp"
#include "slurm/node_memory.hpp"
#include "slurm/queue_text.hpp"
#include "slurm/stage.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

namespace osora::cli {
namespace {

using std::chrono_literals::operator""s;

constexpr auto kCommandLimit = 20s;

/// What a Slurm command is run with: where Slurm is, but no settings that would change the job that
/// --dry-run has shown.
Environment command_environment(Context const& context) {
    Environment environment = protocol::without_slurm_job(context.environment);
    std::erase_if(environment,
                  [](std::string const& entry) { return entry.starts_with("SQUEUE_"); });
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

/// Slurm's own words, on one line.
Error refusal(std::string_view name, Captured const& captured) {
    std::string words;
    for (char const each : captured.err.empty() ? captured.out : captured.err) {
        words += each == '\n' ? ' ' : each;
    }
    while (words.ends_with(' ')) words.pop_back();
    return {Errc::unreachable,
            words.empty() ? fmt::format("{} {}", name, describe(captured.status)) : words};
}

/// Those of the run file, and those that have failed runs lately.
std::vector<std::string> excluded_nodes(Context const& context, plan::RunConfig const& config) {
    auto hosts = config.faults.exclude_nodes;
    auto const state = state_dir(context.environment);
    if (state.has_error()) return hosts;
    auto const text = read_file(*state / "node_memory.json");
    if (text.has_error()) return hosts;
    auto const memory = protocol::decode<slurm::NodeMemory>(*text);
    if (memory.has_error()) return hosts;
    for (auto& host : slurm::bad_hosts(*memory, wall_now_us())) hosts.push_back(std::move(host));
    return hosts;
}

}  // namespace

bool is_in_job(Environment const& environment) {
    return !variable_or(environment, "SLURM_JOB_ID", "").empty();
}

Result<std::string> job_script_for(Context const& context, plan::RunConfig const& config,
                                   std::filesystem::path const& run_dir) {
    slurm::JobRequest request;
    request.name = run_dir.filename().string();
    request.run_dir = run_dir;
    request.osorad = context.program_dir / "osorad";
    request.resources = config.resources;
    request.slurm = config.slurm;
    request.exclude_nodes = excluded_nodes(context, config);
    return slurm::job_script(request);
}

Result<void> write_job_files(Context const& context, plan::RunConfig const& config,
                             RunFolder const& run) {
    Environment const submitted = protocol::without_slurm_job(context.environment);
    OSORA_TRY(auto const environment, protocol::encode_environment(submitted));
    OSORA_TRY(auto const script, job_script_for(context, config, run.paths.dir));
    OSORA_TRY_VOID(write_file_atomic(run.paths.environment(), environment, kPrivate));
    return write_file_atomic(run.paths.job_script(), script, 0700);
}

Result<slurm::JobRecord> submit_job(Context const& context, RunFolder const& run,
                                    Predecessor const& after) {
    std::vector<std::string> arguments{"--parsable"};
    if (after.job > 0) {
        auto const waits = slurm::stage_arguments(after.job);
        arguments.insert(arguments.end(), waits.begin(), waits.end());
    }
    arguments.push_back(run.paths.job_script().string());
    OSORA_TRY(auto const captured, run_slurm(context, "sbatch", std::move(arguments)));
    if (!captured.ok()) return refusal("sbatch", captured).in("sbatch");
    slurm::JobRecord record;
    OSORA_TRY(record.job, slurm::parse_submitted(captured.out));
    record.job.name = run.name;
    if (after.job > 0) record.after = after.run;
    OSORA_TRY_VOID(write_job_record(run.paths, record));
    return record;
}

Result<slurm::StartEstimate> estimate_start(Context const& context, std::string const& script) {
    OSORA_TRY(auto const captured, run_slurm(context, "sbatch", {"--test-only"}, script));
    return slurm::parse_test_only(captured.err);
}

Result<std::string> run_squeue(Context const& context) {
    OSORA_TRY(auto captured,
              run_slurm(context, "squeue", slurm::squeue_arguments(std::to_string(::geteuid()))));
    if (!captured.ok()) return refusal("squeue", captured).in("squeue");
    return std::move(captured.out);
}

Result<std::vector<slurm::QueuedJob>> read_queue(Context const& context) {
    OSORA_TRY(auto const text, run_squeue(context));
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

Result<void> write_job_record(protocol::RunPaths const& paths, slurm::JobRecord const& record) {
    return write_file_atomic(paths.slurm_job(), protocol::encode(record) + "\n", kPrivate);
}

}  // namespace osora::cli
