// Files have mode 0600: the environment of workers may hold secrets.
#include "cli/run/submission.hpp"

#include "base/files/files.hpp"
#include "base/ids.hpp"
#include "cli/run/run_secrets.hpp"
#include "db/record/facts.hpp"
#include "plan/worker_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::cli {
namespace {

plan::WorkerJob job_of(Submission const& submission, RunFolder const& run, std::string uuid) {
    plan::WorkerJob job;
    job.run_uuid = std::move(uuid);
    job.run_name = run.name;
    job.run_dir = run.paths.dir.string();
    job.base_dir = submission.base_dir.string();
    job.config = submission.resolved.config;
    job.plan = submission.plan;
    for (plan::ResolvedStage const& stage : submission.resolved.stages) {
        job.stages.push_back({stage.at_step, stage.new_rate, stage.config});
    }
    job.rehearsal = submission.rehearsal;
    job.collectives = submission.collectives;
    return job;
}

/// A variable for the workers (a secret, or its digest) as a quoted TOML string.
bool is_withheld(std::string_view key, std::string_view value) {
    constexpr std::string_view kVariables = "worker.env.";
    if (!key.starts_with(kVariables) || value.size() < 2) return false;
    auto const text = value.substr(1, value.size() - 2);
    return is_secret_digest(text) || is_secret(key.substr(kVariables.size()), text);
}

/// Whether `key`, a list or table that was empty, has parts now.
bool has_parts(db::Facts const& facts, std::string const& key) {
    return std::ranges::any_of(std::array{'.', '['}, [&](char separator) {
        auto const first = facts.lower_bound(key + separator);
        return first != facts.end() && first->first.starts_with(key + separator);
    });
}

/// What each [[stage]] changes, in sections that hold no secrets: [{"at_step": 500,
/// "data.manifest": "hq.csv"}]. null: the stage is without that key (of a bucket, say).
protocol::json::array stage_changes(plan::ResolvedConfig const& resolved) {
    protocol::json::array stages;
    plan::RunConfig first = resolved.config;
    // Hosts that failed lately went last when the stages had been read.
    if (!resolved.stages.empty()) first.ssh = resolved.stages.front().config.ssh;
    auto before = db::flatten(protocol::to_json(first));
    for (plan::ResolvedStage const& stage : resolved.stages) {
        auto after = db::flatten(protocol::to_json(stage.config));
        protocol::json::object changes{{"at_step", stage.at_step}};
        for (auto const& [key, value] : after) {
            auto const was = before.find(key);
            if (was == before.end() || was->second != value) changes[key] = value;
        }
        for (auto const& [key, value] : before) {
            if (!after.contains(key) && !has_parts(after, key)) changes[key] = nullptr;
        }
        stages.push_back(std::move(changes));
        before = std::move(after);
    }
    return stages;
}

Result<void> write_files(Submission const& submission, RunFolder const& run) {
    std::string const uuid = make_uuid();
    auto const event = submitted_event(submission, run, uuid);
    OSORA_TRY_VOID(
        write_file_atomic(run.paths.run_file(), submission.resolved.run_file_text, kPrivate));
    OSORA_TRY_VOID(
        write_file_atomic(run.paths.plan(), protocol::encode(submission.plan) + "\n", kPrivate));
    OSORA_TRY_VOID(write_file_atomic(
        run.paths.job(), protocol::encode(job_of(submission, run, uuid)) + "\n", kPrivate));
    if (submission.probe) {
        OSORA_TRY_VOID(write_file_atomic(run.paths.probe_request(),
                                         protocol::encode(*submission.probe) + "\n", kPrivate));
    }
    // Written last: it makes the directory a run.
    return write_file_atomic(run.paths.submission(), protocol::encode(event) + "\n", kPrivate);
}

}  // namespace

protocol::RunSubmitted submitted_event(Submission const& submission, RunFolder const& run,
                                       std::string uuid) {
    plan::RunConfig const& config = submission.resolved.config;
    protocol::RunSubmitted event;
    event.run_uuid = std::move(uuid);
    event.run_name = run.name;
    event.job = config.run.job;
    event.user = submission.user;
    event.host = submission.host;
    event.base_dir = submission.base_dir.string();
    event.number = run.number;
    event.nodes = config.resources.nodes;
    event.ranks_per_node = config.resources.gpus_per_node;
    event.restarts_max = config.faults.max_restarts;
    // Only the user knows the number of steps of a user program; a probe has none, and those of an
    // encode or score run follow from its clips.
    bool const known =
        config.run.job != "probe" && config.run.job != "encode" && config.run.job != "score" &&
        (config.run.job != "exec" || submission.resolved.origins.contains("train.steps"));
    event.steps = known ? config.train.steps : 0;
    event.clips = submission.plan.predicted.clips;
    event.attached = submission.attached;
    event.submitted_us = submission.submitted_us;
    event.facts = shown_facts(submission.facts, submission.secret_key);
    event.config = protocol::to_json(shown_config(config, submission.secret_key));
    if (!submission.resolved.stages.empty()) {
        event.config.get_object()["stage"] = stage_changes(submission.resolved);
    }
    event.origins = protocol::to_json(submission.resolved.origins);
    return event;
}

Result<RunFolder> create_run(std::filesystem::path const& state, Submission const& submission) {
    OSORA_TRY(auto const run, make_run_folder(state, submission.resolved.config.run.name));
    auto const written = write_files(submission, run);
    if (written.has_value()) return run;
    std::error_code ignored;  // the first error is reported
    std::filesystem::remove_all(run.paths.dir, ignored);
    return written.error();
}

std::vector<std::string> sets_of(plan::SubmittedRun const& submitted) {
    std::vector<std::string> sets;
    for (auto const& [key, origin] : submitted.origins) {
        std::string const value = plan::value_text(submitted.config, key);
        if (origin.layer != plan::Layer::command_line || value.empty()) continue;
        sets.push_back(fmt::format("{}={}", key, is_withheld(key, value) ? "..." : value));
    }
    return sets;
}

}  // namespace osora::cli
