// The events that stop the workers of a run, and its end (docs/rfc/001). Part of run_events.hpp.
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <string_view>

namespace osora::protocol {

enum class Verdict {
    none,
    ok,
    app_bug,  // never retried
    oom,
    data,
    comm,
    node_fault,
    preempted,
    timeout,
    no_progress,
    cancelled,        // a user requested it, or the attached osora went away
    controller_lost,  // found later: the controller ended without ending the run
    internal
};
BOOST_DESCRIBE_ENUM(Verdict, none, ok, app_bug, oom, data, comm, node_fault, preempted, timeout,
                    no_progress, cancelled, controller_lost, internal)

struct StopRequested {
    static constexpr std::string_view kType = "stop_requested";
    bool now = false;     // true: without a checkpoint
    std::string reason;   // "Ctrl-C", "osora cancel", "the attached osora went away"
    bool by_user = true;  // false: a signal of Slurm, or a limit of osora
};
/// A user asked for another attempt from a checkpoint: the workers of the present one are stopped.
struct RelaunchAsked {
    static constexpr std::string_view kType = "relaunch_asked";
    bool now = false;          // true: without a checkpoint at the end of the step
    std::string user, reason;  // who asked, and why; the reason may be empty
};
/// All workers of `attempt` on `node` have ended for certain.
struct NodeStopped {
    static constexpr std::string_view kType = "node_stopped";
    int attempt = 0, node = 0, processes_left = 0;
    bool unasked = false;        // nobody ordered it: the agent's lease had ended
    std::string gpu_fault = {};  // that the driver reported during the attempt: "GPU 3: Xid 79"
};
struct RunEnded {
    static constexpr std::string_view kType = "ended";
    Verdict verdict = Verdict::none;
    int exit_code = 0;  // of osora: docs/contract.md section 4
    std::string cause;  // for the user; empty after success
};

BOOST_DESCRIBE_STRUCT(StopRequested, (), (now, reason, by_user))
BOOST_DESCRIBE_STRUCT(RelaunchAsked, (), (now, user, reason))
BOOST_DESCRIBE_STRUCT(NodeStopped, (), (attempt, node, processes_left, unasked, gpu_fault))
BOOST_DESCRIBE_STRUCT(RunEnded, (), (verdict, exit_code, cause))

}  // namespace osora::protocol
