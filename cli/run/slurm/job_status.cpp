#include "cli/run/slurm/job_status.hpp"

#include "cli/run/run_command.hpp"
#include "cli/run/slurm/shared_queue.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "cli/text/wall_time.hpp"
#include "slurm/queue_poller.hpp"

#include "base/env.hpp"
#include "base/host_name.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace osora::cli {
JobStatus JobStatusQuery::of(RunFolder const& run) {
    using std::chrono_literals::operator""s;
    JobStatus stand;
    auto const record = read_job_record(run.paths);
    if (!record || record->cancelled) return stand;
    stand.job.job_id = record->job.job_id;
    stand.cluster = record->job.cluster;
    auto const [at, fresh] = queues_.try_emplace(stand.cluster);
    if (fresh) {
        auto queue = shared_queue(context_, state_, 2s, stand.cluster);
        if (queue.has_value()) at->second = std::move(queue->jobs);
    }
    if (!at->second) return stand;
    auto const* const job = slurm::find_job(*at->second, record->job);
    if (job == nullptr) {
        if (!is_just_submitted(run.paths)) stand.place = JobPlace::gone;
        return stand;
    }
    stand.job = *job;
    bool const waits = job->state == slurm::JobState::pending;
    stand.place =
        is_final(job->state) ? JobPlace::gone : (waits ? JobPlace::pending : JobPlace::running);
    return stand;
}

bool is_at_work(JobStatus const& job) {
    return job.place == JobPlace::running && job.job.state != slurm::JobState::completing;
}

bool awaits_next_job(RunFolder const& run, protocol::RunView const& view) {
    bool const well = view.status.verdict == protocol::Verdict::ok;
    return is_over(view) && !well && !run.imported && awaits_controller(run.paths);
}

std::string state_text(slurm::JobState state) {
    std::string text = boost::describe::enum_to_string(state, "?");
    for (char& each : text) {
        if (each == '_') each = ' ';
    }
    return text;
}

namespace {

std::string scancel(RunningJob const& at) {
    return at.cluster.empty() ? fmt::format("scancel {}", at.job_id)
                              : fmt::format("scancel -M {} {}", at.cluster, at.job_id);
}

}  // namespace

RunningJob running_job(JobStatus const& job, int number, protocol::RunView const& view) {
    constexpr std::int64_t kMicroseconds = 1'000'000;
    return {.run = number,
            .job_id = job.job.job_id,
            .cluster = job.cluster,
            .controller_gone = view.controller_host == host_name(),
            .last_record_s = view.last_record_us / kMicroseconds,
            .now_s = RealEnv().wall_us() / kMicroseconds};
}

std::string silent_job_text(RunningJob const& at) {
    constexpr std::int64_t kSilent_s = 300;  // steps of most runs are shorter
    bool const silent = at.now_s - at.last_record_s >= kSilent_s;
    if (at.last_record_s <= 0 || (!at.controller_gone && !silent)) return "";
    std::string const since = clock_time(at.last_record_s);
    std::string const why =
        at.controller_gone
            ? fmt::format("its controller is gone, and nothing was recorded since {}", since)
            : fmt::format("nothing was recorded since {}: its controller may be gone", since);
    return fmt::format(
        "run {0}: job {1} runs, but {2}; osora watch {0} shows whether the job starts another; "
        "{3} ends the job, then osora resume {0} continues",
        at.run, at.job_id, why, scancel(at));
}

std::string running_job_text(RunningJob const& at) {
    auto const silent = silent_job_text(at);
    if (!silent.empty()) return silent;
    return fmt::format("run {0} is active in job {1}; osora watch {0} follows it", at.run,
                       at.job_id);
}

std::string starting_job_text(RunningJob const& at) {
    return fmt::format(
        "run {0} goes on in job {1}, which runs and has no controller yet; osora watch {0} follows "
        "it, {2} ends the job",
        at.run, at.job_id, scancel(at));
}

std::string still_stopping_text(RunningJob const& at, double waited_s, bool now) {
    if (!now) return fmt::format("run {0} is still stopping; osora cancel {0} --now", at.run);
    auto const text =
        fmt::format("run {} did not stop within {}", at.run, format_seconds(waited_s));
    if (at.job_id == 0) return text + fmt::format("; osora status {} shows what it does", at.run);
    return text +
           fmt::format(": its controller may be gone; {} ends its job {}", scancel(at), at.job_id);
}

}  // namespace osora::cli
