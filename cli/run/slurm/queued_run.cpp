#include "cli/run/slurm/queued_run.hpp"

#include "cli/run/slurm/job_status.hpp"
#include "cli/run/slurm/shared_queue.hpp"
#include "cli/text/wall_time.hpp"

#include "base/check.hpp"
#include "slurm/after_sbatch.hpp"
#include "slurm/notation.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace osora::cli {
namespace {

constexpr char const* kRun = "run";

MonotonicTime now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

QueuedRun::QueuedRun(Context const& context, RunFolder const& run, slurm::JobRecord record)
    : context_(context), run_(run), record_(std::move(record)) {
    watch();
}

void QueuedRun::watch() {
    poller_.watch(kRun, record_.job);
    since_ = now();
}

slurm::JobView const& QueuedRun::view() const {
    auto const* const view = poller_.view(kRun);
    OSORA_CHECK(view != nullptr);
    return *view;
}

void QueuedRun::tick(bool speaking) {
    poller_.set_speaking(kRun, speaking);
    auto const due = poller_.next_poll();
    if (!due || *due > now()) return;
    poller_.asked(now());
    auto const state = run_.paths.state().dir;
    auto const queue = shared_queue(context_, state, poller_.interval(), record_.job.cluster);
    if (queue.has_error()) return poller_.failed(now());
    // Time of the answer: followers that share it poll in step.
    (void)poller_.answered(now() - queue->age, queue->jobs);
}

std::optional<std::string> QueuedRun::news(bool queued) {
    std::string text;
    auto const& job = view();
    if (job.state == slurm::JobState::running) {
        text = fmt::format("{:<8} job {} on {}", "slurm", record_.job.job_id, job.node_list);
    } else if (poller_.is_blind()) {
        text = fmt::format("{:<8} Slurm does not answer; still asking", "slurm");
    } else if (queued && job.state == slurm::JobState::pending) {
        text = fmt::format("{:<8} job {} queued{}{}", "slurm", record_.job.job_id,
                           job.start_time ? ", estimated start " + clock_time(*job.start_time) : "",
                           why_it_waits());
    }
    if (text.empty() || text == said_) return {};
    said_ = text;
    return text;
}

std::string QueuedRun::waiting() const {
    auto const& job = view();
    if (job.state == slurm::JobState::running) return "";
    auto waited = std::chrono::duration_cast<std::chrono::seconds>(now() - since_).count();
    if (job.key.submit_time > 0) waited = std::time(nullptr) - job.key.submit_time;
    std::string text = fmt::format("{:<8} job {} · queued {}", "slurm", record_.job.job_id,
                                   slurm::format_duration(waited));
    if (job.start_time) text += ", estimated start " + clock_time(*job.start_time);
    return text + why_it_waits();
}

std::string QueuedRun::why_it_waits() const {
    slurm::QueuedJob job;
    job.job_id = record_.job.job_id;
    job.state = view().state;
    job.reason = view().reason;
    return slurm::reason_text(job, record_.job.cluster);
}

std::optional<std::string> QueuedRun::over() const {
    auto const& job = view();
    if (!job.gone) return {};
    auto const id = record_.job.job_id;
    bool const never_ran = !std::filesystem::exists(run_.paths.journal());
    std::string const waited = record_.after.empty() || !never_ran
                                   ? ""
                                   : " (it waited for " + record_.after + " to end well)";
    if (!is_final(job.state))
        return fmt::format("job {} is not in the queue any more{}", id, waited);
    return fmt::format("job {} has ended: {}{}", id, state_text(job.state), waited);
}

Result<bool> QueuedRun::cancel_if_waiting() {
    if (view().state == slurm::JobState::running) return false;
    OSORA_TRY(auto const queue, read_queue(context_, record_.job.cluster));
    auto const* const job = slurm::find_job(queue, record_.job);
    if (job != nullptr && job->state != slurm::JobState::pending) return false;
    OSORA_TRY_VOID(cancel_job(context_, record_.job));
    record_.cancelled = true;
    OSORA_TRY_VOID(write_job_record(run_.paths, record_));
    std::error_code ignored;  // osora resume writes it again
    std::filesystem::remove(run_.paths.environment(), ignored);
    return true;
}

std::optional<Result<void>> cancel_waiting_job(Context const& context, RunFolder const& run) {
    auto const record = read_job_record(run.paths);
    if (!record || record->cancelled) return {};
    auto const queue = read_queue(context, record->job.cluster);
    if (queue.has_error()) return Result<void>(queue.error());
    auto const* const job = slurm::find_job(*queue, record->job);
    bool const unseen = job == nullptr && is_just_submitted(run.paths) &&
                        !std::filesystem::exists(run.paths.journal());
    bool const waits = job != nullptr && job->state == slurm::JobState::pending;
    if (!waits && !unseen) return {};
    auto const cancelled = QueuedRun(context, run, *record).cancel_if_waiting();
    if (cancelled.has_error()) return Result<void>(cancelled.error());
    return *cancelled ? std::optional(Result<void>()) : std::nullopt;
}

bool QueuedRun::has_follower() {
    auto const newest = read_job_record(run_.paths);
    bool const same =
        newest && newest->job.job_id == record_.job.job_id && newest->followed == record_.followed;
    if (!newest || same) return false;
    poller_.forget(kRun);
    record_ = *newest;
    watch();
    return true;
}

}  // namespace osora::cli
