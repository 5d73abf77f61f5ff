#include "cli/run/slurm/job_status.hpp"

#include "cli/run/slurm/shared_queue.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "slurm/queue_poller.hpp"

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

std::string state_text(slurm::JobState state) {
    std::string text = boost::describe::enum_to_string(state, "?");
    for (char& each : text) {
        if (each == '_') each = ' ';
    }
    return text;
}

}  // namespace osora::cli
