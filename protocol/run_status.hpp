// What a journal means: the state of a run as a fold over its events (docs/rfc/001). The controller
// decides from it (daemon/controller/run_fsm), CLI and history show it. Pure; a replay gives the
// same state.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::protocol {

enum class RunState {
    submitted,    // RunSubmitted
    checked,      // a plan was made: it can fit
    allocating,   // waiting for agents
    launching,    // agents are there, workers of a new attempt start
    running,      // every rank has said hello
    relaunching,  // a fault, or asked: the attempt's workers are stopped, lost agents replaced
    finishing,    // the verdict is final; workers are stopped and counted
    done
};
BOOST_DESCRIBE_ENUM(RunState, submitted, checked, allocating, launching, running, relaunching,
                    finishing, done)

enum class StopMode { none, graceful, now };
BOOST_DESCRIBE_ENUM(StopMode, none, graceful, now)

struct NodeStatus {
    bool joined = false;        // an agent of the node has joined
    bool finished = false;      // its ranks did their last step of this attempt
    bool stopped = true;        // no worker of the current attempt is left
    std::vector<bool> started;  // by local rank: has sent its hello in this attempt
    int losses = 0;             // since the last LaunchOrdered
    int processes_left = 0;     // count of the last NodeStopped; -1 = could not be counted
    std::string gpu_fault;      // of its host, in this attempt: "uncorrectable ECC error ..."
    // The agent that joined last.
    std::string host, boot_id;
    int agent_pid = 0;
    std::int64_t agent_start_ticks = 0;
    friend bool operator==(NodeStatus const&, NodeStatus const&) = default;
};

/// Workers are started in attempts; events of an older attempt are ignored and change nothing.
struct RunStatus {
    RunState state = RunState::submitted;
    Verdict verdict = Verdict::none;  // from finishing on
    int exit_code = 0;                // of osora, from finishing on
    std::string cause;                // of the last relaunch or of the end, for the user
    bool cause_is_secondary = false;  // a better cause of the same attempt may still replace it
    StopMode stop = StopMode::none;
    bool stopped_by_user = false;  // a person asked for it, before a signal did or after it
    int rounds = 0;          // of faults since the last LaunchOrdered; each counts as a restart
    bool exec = false;       // job = "exec"
    bool rehearsal = false;  // job = "rehearse": trains nothing, so there is no loss
    bool encoding = false;   // job = "encode": likewise; its number of steps is unknown
    bool scoring = false;    // job = "score": likewise; it counts clips
    int attempt = -1;        // the newest one that was ordered
    bool ordered = false;    // in launching: LaunchOrdered of `attempt` was journalled
    int ranks_starting = 0;  // of `attempt`: have not sent their hello
    int restarts = 0;        // relaunches so far, over the whole run
    int free_retries =
        0;  // relaunches that do not count among them (FailureClass::costs_no_restart)
    int restarts_max = 0;
    int asked_relaunches = 0;    // by users, over the whole run; faults.max_restarts ignores them
    bool asked_to_save = false;  // relaunching: the workers stop after a checkpoint, as asked
    bool left_early = false;     // then: a node stopped before the last step, as asked
    int ranks_per_node = 1;
    int incarnations = 0;      // controllers so far
    int checkpoint_step = -1;  // training resumes with this step; -1 = there is none
    std::string checkpoint_path;
    std::string store_host;  // of `attempt`
    int store_port = 0;
    std::vector<NodeStatus> nodes;
    friend bool operator==(RunStatus const&, RunStatus const&) = default;
};

/// Advances `run` by one event. A done run ignores every event but ControllerStarted, which reopens
/// a run that ended without success. Any run ignores events of older attempts, of nodes that it
/// does not have, and before RunSubmitted: the journal may be damaged.
void fold(RunStatus& run, RunEvent const& event);

/// Whether a RelaunchAsked would change `run` now.
[[nodiscard]] bool takes_relaunch(RunStatus const& run, bool now);

/// "relaunch asked by alice: new driver"
[[nodiscard]] std::string describe(RelaunchAsked const& event);

[[nodiscard]] bool all_joined(RunStatus const& run);
[[nodiscard]] bool all_stopped(RunStatus const& run);

}  // namespace osora::protocol
