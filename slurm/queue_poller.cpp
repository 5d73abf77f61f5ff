// Silence is never an end: a job has ended when the queue says so, or after a deadline.
#include "slurm/queue_poller.hpp"

#include <algorithm>

namespace osora::slurm {

QueuedJob const* find_job(std::vector<QueuedJob> const& queue, JobKey const& key) {
    auto const found = std::ranges::find_if(queue, [&](QueuedJob const& job) {
        if (job.job_id != key.job_id) return false;
        bool const same_time = key.submit_time == 0 || job.submit_time == key.submit_time;
        bool const requeued = job.submit_time.value_or(0) > key.submit_time;
        bool const same_name = key.name.empty() || job.name == key.name;
        return same_name && (same_time || (requeued && !key.name.empty()));
    });
    return found == queue.end() ? nullptr : &*found;
}

void QueuePoller::watch(std::string const& run, JobKey const& key) {
    Watched watched;
    watched.view.key = key;
    jobs_[run] = std::move(watched);
    interval_ = limits_.shortest;
    next_ = MonotonicTime{0};
}

void QueuePoller::forget(std::string const& run) {
    jobs_.erase(run);
}

void QueuePoller::set_speaking(std::string const& run, bool speaking) {
    auto const found = jobs_.find(run);
    if (found == jobs_.end() || found->second.speaking == speaking) return;
    found->second.speaking = speaking;
    if (speaking) return;
    interval_ = limits_.shortest;
    next_ = MonotonicTime{0};
}

bool QueuePoller::is_asked_for() const {
    return std::ranges::any_of(
        jobs_, [](auto const& each) { return !each.second.speaking && !each.second.view.gone; });
}

std::optional<MonotonicTime> QueuePoller::next_poll() const {
    if (asking_ || !is_asked_for()) return {};
    return next_;
}

void QueuePoller::asked(MonotonicTime now) {
    asking_ = true;
    next_ = now + limits_.longest;
}

std::vector<std::string> QueuePoller::answered(MonotonicTime now,
                                               std::vector<QueuedJob> const& queue) {
    asking_ = false;
    failures_ = 0;
    std::vector<std::string> changed;
    for (auto& [run, watched] : jobs_) {
        if (take(watched, now, queue)) changed.push_back(run);
    }
    // A job that is missing is looked for again soon: it may have been submitted only just now.
    bool const soon = !changed.empty() || std::ranges::any_of(jobs_, [](auto const& each) {
        return each.second.absent_since && !each.second.view.gone;
    });
    interval_ = soon ? limits_.shortest : std::min(interval_ * 3 / 2, limits_.longest);
    next_ = now + interval_;
    return changed;
}

void QueuePoller::failed(MonotonicTime now) {
    asking_ = false;
    ++failures_;
    interval_ = std::clamp(interval_ * 2, limits_.shortest, limits_.longest);
    next_ = now + interval_;
    // While Slurm does not answer, no job counts as missing.
    for (auto& [run, watched] : jobs_) watched.absent_since.reset();
}

bool QueuePoller::take(Watched& watched, MonotonicTime now,
                       std::vector<QueuedJob> const& queue) const {
    JobView const before = watched.view;
    JobView& view = watched.view;
    if (view.gone) return false;
    QueuedJob const* job = find_job(queue, view.key);
    if (job == nullptr) {
        if (!watched.absent_since) watched.absent_since = now;
        view.gone = now - *watched.absent_since >= limits_.absent_limit;
        return view != before;
    }
    watched.absent_since.reset();
    if (job->submit_time) view.key.submit_time = *job->submit_time;
    // An unknown state says less than the last known one.
    if (job->state != JobState::unknown) view.state = job->state;
    view.reason = job->reason;
    view.node_list = job->node_list;
    view.start_time = job->start_time;
    view.gone = is_final(view.state);
    return view != before;
}

JobView const* QueuePoller::view(std::string const& run) const {
    auto const found = jobs_.find(run);
    return found == jobs_.end() ? nullptr : &found->second.view;
}

}  // namespace osora::slurm
