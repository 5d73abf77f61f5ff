#include "cli/job_look.hpp"

#include "cli/shared_queue.hpp"
#include "cli/slurm_job.hpp"
#include "slurm/queue_poller.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace osora::cli {

JobStand JobLook::stand(RunFolder const& run) {
    using std::chrono_literals::operator""s;
    JobStand stand;
    auto const record = read_job_record(run.paths);
    if (!record || record->cancelled) return stand;
    stand.job.job_id = record->job.job_id;
    if (!std::exchange(asked_, true)) {
        auto queue = shared_queue(context_, state_, 2s);
        if (queue.has_value()) queue_ = std::move(queue->jobs);
    }
    if (!queue_) return stand;
    stand.place = JobPlace::gone;
    auto const* const job = slurm::find_job(*queue_, record->job);
    if (job == nullptr) return stand;
    stand.job = *job;
    if (!is_final(job->state)) {
        bool const waits = job->state == slurm::JobState::pending;
        stand.place = waits ? JobPlace::waits : JobPlace::runs;
    }
    return stand;
}

std::string clock_time(std::int64_t seconds) {
    std::time_t const time = seconds;
    std::time_t const today = std::time(nullptr);
    std::tm parts{};
    std::tm here{};
    ::localtime_r(&time, &parts);
    ::localtime_r(&today, &here);
    bool const same_day = parts.tm_yday == here.tm_yday && parts.tm_year == here.tm_year;
    std::string const at = fmt::format("{:02}:{:02}", parts.tm_hour, parts.tm_min);
    if (same_day) return at;
    return fmt::format("{}-{:02}-{:02} {}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       at);
}

std::string state_text(slurm::JobState state) {
    std::string text = boost::describe::enum_to_string(state, "?");
    for (char& each : text) {
        if (each == '_') each = ' ';
    }
    return text;
}

}  // namespace osora::cli
