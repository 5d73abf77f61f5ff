// What to try next when a run on Slurm has failed or must leave its nodes, cheapest first
// (docs/rfc/001): relaunch on the same nodes, on a spare, in a job that depends on this one, by a
// requeue. Pure.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

enum class Escalation {
    relaunch,    // start workers again on the same nodes: about a second
    swap_node,   // a spare replaces a bad node: about a second
    follow_job,  // a new job that waits for the end of this one: seconds, and the queue
    requeue,     // this job again: two minutes on most clusters, and the queue
    stop
};
BOOST_DESCRIBE_ENUM(Escalation, relaunch, swap_node, follow_job, requeue, stop)

/// The warning with which Slurm itself announced this job's end.
enum class JobWarning { none, time_limit, preemption };
BOOST_DESCRIBE_ENUM(JobWarning, none, time_limit, preemption)

/// A signal to the batch step.
struct JobSignal {
    bool is_warning = false;                 // that of sbatch's --signal; else SIGTERM
    std::optional<std::int64_t> end_s = {};  // the job's projected end; none: not known
    std::int64_t now_s = 0;                  // both since 1970
};
/// What it means after the warning `before`. The warning comes before the time limit and, on some
/// clusters, before a preemption; SIGTERM comes at the time limit, at the end of a preemption's
/// grace, and from scancel.
[[nodiscard]] JobWarning warning_of(JobSignal const& signal, JobWarning before);

/// Whether `log`, what the job printed, ends the job by a request (scancel): slurmstepd writes
/// there that it was cancelled, and names a time limit, a preemption, a requeue or a failed node.
[[nodiscard]] bool says_cancelled(std::string_view log, std::string_view job_id);

struct EscalationState {
    protocol::Verdict verdict = protocol::Verdict::none;  // of the run; none: still undecided
    bool do_not_requeue = false;                          // a rank exited with 93
    int restarts_left = 0;                                // within the job
    int nodes_needed = 0, nodes_usable = 0;               // of the allocation, without bad ones
    bool node_is_bad = false;                             // the fault names a node of the run
    int jobs_left = 0;       // [slurm] chain: jobs that may follow this one
    bool can_submit = true;  // sbatch works from here
    JobWarning warning = JobWarning::none;
    bool stopped_by_user = false;  // a person asked for the stop, before the warning or after it
};
struct EscalationStep {
    Escalation action = Escalation::stop;
    std::string reason;  // for the user
};
[[nodiscard]] EscalationStep next_escalation(EscalationState const& state);

}  // namespace osora::slurm
