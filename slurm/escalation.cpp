// One function, read from the top: what forbids every step, what keeps the allocation, what leaves
// it.
#include "slurm/escalation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::slurm {
namespace {

using protocol::Verdict;

/// Verdicts that a retry on other or the same nodes may heal.
bool is_worth_retrying(Verdict verdict) {
    return verdict == Verdict::comm || verdict == Verdict::node_fault ||
           verdict == Verdict::no_progress || verdict == Verdict::none ||
           verdict == Verdict::controller_lost;
}

EscalationStep leave_the_job(EscalationState const& state, std::string const& why) {
    if (state.jobs_left <= 0) {
        return {Escalation::stop, why + "; no further job may follow ([slurm] chain)"};
    }
    if (state.can_submit) return {Escalation::follow_job, why + ": the next job continues the run"};
    return {Escalation::requeue, why + ", and sbatch does not work from here: requeued"};
}

}  // namespace

JobWarning warning_of(JobSignal const& signal, JobWarning before) {
    constexpr std::int64_t kLate_s = 120, kWarningMost_s = 600;  // slurm/job_script: warning_s()
    constexpr std::int64_t kEarly_s = 60, kOverTime_s = 3600;    // of the limit's SIGTERM
    std::int64_t const left_s = signal.end_s.value_or(0) - signal.now_s;
    if (signal.is_warning) {
        bool const near_end = !signal.end_s || left_s < kWarningMost_s + kLate_s;
        return near_end ? JobWarning::time_limit : JobWarning::preemption;
    }
    // An end that long ago was put off (scontrol update): the new one is not known.
    if (!signal.end_s || left_s < -kOverTime_s) return before;
    if (left_s <= kEarly_s) return JobWarning::time_limit;
    return before == JobWarning::preemption ? before : JobWarning::none;
}

bool says_cancelled(std::string_view log, std::string_view job_id) {
    // "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-28T17:00:00 DUE TO TIME LIMIT ***"
    constexpr std::string_view kCancelled = " CANCELLED AT ", kEnd = " ***";
    auto const begin = log.rfind(fmt::format("*** JOB {} ON ", job_id));
    if (begin == std::string_view::npos) return false;
    auto line = log.substr(begin);
    line = line.substr(0, line.find('\n'));
    auto const at = line.find(kCancelled);
    if (at == std::string_view::npos || !line.ends_with(kEnd)) return false;
    auto const words = line.substr(at + kCancelled.size());
    auto const why = words.substr(std::min(words.find(' '), words.size()));
    return why == kEnd || why.starts_with(" DUE to SIGNAL ");
}

EscalationStep next_escalation(EscalationState const& state) {
    if (state.do_not_requeue)
        return {Escalation::stop, "a rank asked not to be started again (93)"};
    if (state.verdict == Verdict::ok) return {Escalation::stop, "the run is done"};
    // After a warning a run is cancelled because Slurm ends its job, unless a person asked as well.
    bool const warned = state.warning != JobWarning::none;
    bool const cancelled = state.verdict == Verdict::cancelled;
    if (state.stopped_by_user || (cancelled && !warned)) {
        return {Escalation::stop, "cancelled on request"};
    }
    // A user program that Slurm signals may end with an error before osora knows of the warning.
    bool const signalled = warned && state.verdict == Verdict::app_bug;
    if (!cancelled && !signalled && !is_worth_retrying(state.verdict)) {
        return {Escalation::stop, "another try would end the same way"};
    }
    if (state.warning == JobWarning::time_limit) {
        return leave_the_job(state, "the job's time is over");
    }
    if (state.warning == JobWarning::preemption)
        return leave_the_job(state, "the job is preempted");
    if (state.verdict == Verdict::none && state.restarts_left <= 0) {
        return {Escalation::stop, "no restart is left (faults.max_restarts)"};
    }
    if (state.nodes_usable < state.nodes_needed) {
        return leave_the_job(state, fmt::format("{} of {} nodes are usable", state.nodes_usable,
                                                state.nodes_needed));
    }
    if (state.verdict != Verdict::none) return {Escalation::stop, "no restart is left"};
    if (state.node_is_bad)
        return {Escalation::swap_node, "another node of the job takes its place"};
    return {Escalation::relaunch, "on the same nodes"};
}

}  // namespace osora::slurm
