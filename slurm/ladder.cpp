// One function, read from the top: what forbids all, what keeps the allocation, what does not.
#include "slurm/ladder.hpp"

#include <fmt/format.h>

namespace osora::slurm {
namespace {

using protocol::Verdict;

/// Verdicts that another try on other or the same nodes may heal.
bool is_worth_retrying(Verdict verdict) {
    return verdict == Verdict::comm || verdict == Verdict::node_fault ||
           verdict == Verdict::no_progress || verdict == Verdict::none ||
           verdict == Verdict::controller_lost;
}

LadderStep leave_the_job(LadderState const& state, std::string const& why) {
    if (state.jobs_left <= 0) {
        return {Rung::stop, why + "; no further job may follow ([slurm] chain)"};
    }
    if (state.can_submit) return {Rung::follow_job, why + ": a job that follows this one goes on"};
    return {Rung::requeue, why + ", and sbatch does not work from here: requeued"};
}

}  // namespace

LadderStep next_rung(LadderState const& state) {
    if (state.do_not_requeue) return {Rung::stop, "a rank asked not to be started again (93)"};
    if (state.verdict == Verdict::ok) return {Rung::stop, "the run is done"};
    if (state.warning == JobWarning::time_limit) {
        return leave_the_job(state, "the job's time is over");
    }
    if (state.warning == JobWarning::preemption)
        return leave_the_job(state, "the job is preempted");
    if (state.verdict == Verdict::cancelled) return {Rung::stop, "asked for"};
    if (!is_worth_retrying(state.verdict)) {
        return {Rung::stop, "another try would end the same way"};
    }
    if (state.verdict == Verdict::none && state.restarts_left <= 0) {
        return {Rung::stop, "no restart is left (faults.max_restarts)"};
    }
    if (state.nodes_usable < state.nodes_needed) {
        return leave_the_job(state, fmt::format("{} of {} nodes are usable", state.nodes_usable,
                                                state.nodes_needed));
    }
    if (state.verdict != Verdict::none) return {Rung::stop, "no restart is left"};
    if (state.node_is_bad) return {Rung::swap_node, "another node of the job takes its place"};
    return {Rung::relaunch, "on the same nodes"};
}

}  // namespace osora::slurm
