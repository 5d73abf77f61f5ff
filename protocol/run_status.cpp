// The fold. Each event has one function, which ignores an event that does not fit the state, so
// that any sequence of events gives a consistent status.
#include "protocol/run_status.hpp"

#include "protocol/gpu_failure.hpp"
#include "protocol/journal/event_limits.hpp"
#include "protocol/steps/measurement.hpp"
#include "protocol/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::protocol {
namespace {

NodeStatus* node_at(RunStatus& run, int index) {
    if (index < 0 || index >= static_cast<int>(run.nodes.size())) return nullptr;
    return &run.nodes[static_cast<std::size_t>(index)];
}

bool workers_wanted(RunStatus const& run) {
    return run.state == RunState::running || (run.state == RunState::launching && run.ordered);
}

void finish(RunStatus& run, FailureClass const& failure_class, std::string cause) {
    run.state = RunState::finishing;
    run.verdict = failure_class.verdict;
    run.exit_code = exit_code_of(failure_class);
    run.cause = std::move(cause);
}

/// Moves to the next state when everything that the state waits for is there.
void advance(RunStatus& run) {
    bool const waits = run.state == RunState::allocating || run.state == RunState::relaunching;
    if (!waits || !all_joined(run) || !all_stopped(run)) return;
    run.state = RunState::launching;
    run.ordered = run.asked_to_save = false;
}

/// One more round of faults: relaunch, or end when the fault is final or the restarts are used up.
void fault(RunStatus& run, FailureClass const& failure_class, std::string cause) {
    run.cause_is_secondary = failure_class.secondary;
    run.asked_to_save = false;
    ++run.rounds;
    bool const free = failure_class.costs_no_restart && run.free_retries < kFreeRetriesMax;
    if (!failure_class.retry || (!free && run.restarts >= run.restarts_max)) {
        finish(run, failure_class, std::move(cause));
        return;
    }
    ++(free ? run.free_retries : run.restarts);
    run.state = RunState::relaunching;
    run.ordered = false;
    run.cause = std::move(cause);
    advance(run);
}

/// A failure of the attempt that is already ending: it counts only as a better cause than a
/// secondary failure.
void improve_cause(RunStatus& run, FailureClass const& failure_class, std::string cause) {
    bool const ending = run.state == RunState::relaunching || run.state == RunState::finishing;
    bool const by_fault = run.verdict != Verdict::ok && run.verdict != Verdict::cancelled;
    if (!ending || !by_fault || !run.cause_is_secondary || failure_class.secondary) return;
    run.cause_is_secondary = false;
    if (run.state == RunState::relaunching && failure_class.retry) {
        run.cause = std::move(cause);
        return;
    }
    if (run.state == RunState::relaunching) --run.restarts;  // the relaunch that will not happen
    finish(run, failure_class, std::move(cause));
}

void fault_or_improve(RunStatus& run, FailureClass const& failure_class, std::string cause) {
    if (workers_wanted(run)) {
        fault(run, failure_class, std::move(cause));
    } else if (run.state == RunState::finishing && run.stop == StopMode::graceful) {
        run.stop = StopMode::now;  // a broken group cannot save a checkpoint
    } else if (run.asked_to_save) {
        run.asked_to_save = false;  // likewise
    } else {
        improve_cause(run, failure_class, std::move(cause));
    }
}

void on(RunStatus& run, RunSubmitted const& event) {
    bool const sane = event.nodes >= 1 && event.nodes <= kRunNodesMax &&
                      event.ranks_per_node >= 1 && event.ranks_per_node <= kRunRanksPerNodeMax;
    if (!run.nodes.empty() || !sane) return;
    run.nodes.resize(static_cast<std::size_t>(event.nodes));
    run.ranks_per_node = event.ranks_per_node;
    run.restarts_max = event.restarts_max;
    run.exec = event.job == "exec";
    run.rehearsal = event.job == "rehearse";
    run.encoding = event.job == "encode";
    run.scoring = event.job == "score";
}

void on(RunStatus& run, PlanChosen const&) {
    if (run.state == RunState::submitted) run.state = RunState::checked;
}

/// A run that ended without success is reopened: it continues from its last checkpoint, in a new
/// attempt and with all of its restarts.
void reopen(RunStatus& run) {
    run.state = RunState::allocating;
    run.verdict = Verdict::none;
    run.exit_code = run.restarts = run.free_retries = run.rounds = 0;
    run.cause.clear();
    run.cause_is_secondary = run.ordered = run.asked_to_save = false;
    run.stop = StopMode::none;
    run.stopped_by_user = false;
    for (NodeStatus& node : run.nodes) {
        node.joined = node.finished = false;
        node.stopped = true;
        node.losses = 0;
        node.gpu_fault.clear();
    }
}

void on(RunStatus& run, ControllerStarted const& event) {
    if (run.state == RunState::done && run.verdict != Verdict::ok) reopen(run);
    run.incarnations = std::max(run.incarnations, std::clamp(event.incarnation, 0, kNumberMax) + 1);
    bool const first = run.state == RunState::submitted || run.state == RunState::checked;
    if (first) run.state = RunState::allocating;
}

void on(RunStatus& run, AgentJoined const& event) {
    NodeStatus* node = node_at(run, event.node);
    if (node == nullptr) return;
    node->joined = true;
    node->gpu_fault.clear();
    node->host = event.host;
    node->boot_id = event.boot_id;
    node->agent_pid = event.pid;
    node->agent_start_ticks = event.start_ticks;
    advance(run);
}

void on(RunStatus& run, NodeLost const& event) {
    NodeStatus* node = node_at(run, event.node);
    if (node == nullptr) return;
    node->joined = false;
    ++node->losses;
    FailureClass const failure_class{Verdict::node_fault, true};
    // While agents join, nodes that are lost together count once; a node that is lost again after
    // it was replaced counts again.
    bool const gathering = run.state == RunState::allocating ||
                           run.state == RunState::relaunching ||
                           (run.state == RunState::launching && !run.ordered);
    if (gathering && node->losses > run.rounds) {
        fault(run, failure_class, describe(event));
        return;
    }
    if (run.state == RunState::launching && !run.ordered) run.state = RunState::relaunching;
    fault_or_improve(run, failure_class, describe(event));
}

void on(RunStatus& run, LaunchOrdered const& event) {
    if (run.state != RunState::launching || run.ordered || event.attempt != run.attempt + 1) return;
    run.attempt = event.attempt;
    run.ordered = true;
    run.rounds = 0;
    run.cause_is_secondary = run.left_early = false;
    run.store_host = event.store_host;
    run.store_port = event.store_port;
    run.ranks_starting = static_cast<int>(run.nodes.size()) * run.ranks_per_node;
    for (NodeStatus& node : run.nodes) {
        node.finished = node.stopped = false;
        node.losses = node.processes_left = 0;
        node.gpu_fault.clear();
        node.started.assign(static_cast<std::size_t>(run.ranks_per_node), false);
    }
}

void on(RunStatus& run, RankStarted const& event) {
    NodeStatus* node = node_at(run, event.node);
    if (node == nullptr || event.rank < 0) return;
    int const local_rank = event.rank - event.node * run.ranks_per_node;
    if (local_rank < 0 || local_rank >= run.ranks_per_node) return;
    if (run.state != RunState::launching || !run.ordered) return;
    if (node->started[static_cast<std::size_t>(local_rank)]) return;
    node->started[static_cast<std::size_t>(local_rank)] = true;
    if (--run.ranks_starting == 0) run.state = RunState::running;
}

void on(RunStatus& run, RankFailed const& event) {
    NodeStatus* node = node_at(run, event.node);
    if (node == nullptr) return;
    auto const failure_class = classify_failure(event, run.exec);
    if (failure_class.blames_host) node->gpu_fault = hardware_fault_of(event);
    fault_or_improve(run, failure_class, describe(event, run.exec));
}

void on(RunStatus& run, NodeFinished const& event) {
    NodeStatus* node = node_at(run, event.node);
    if (node == nullptr) return;
    if (event.stopped && workers_wanted(run)) {
        fault(run, {Verdict::node_fault, true},
              fmt::format("node {} stopped its workers although nobody had asked", event.node));
        return;
    }
    node->finished = true;
    bool const all = std::ranges::all_of(run.nodes, [](auto const& each) { return each.finished; });
    run.left_early = run.left_early || event.stopped;
    // A request that came during the last step has nothing left to relaunch.
    bool const too_late = run.asked_to_save && !run.left_early;
    if (all && (workers_wanted(run) || too_late)) finish(run, {Verdict::ok}, "");
}

void on(RunStatus& run, HangDetected const& event) {
    if (workers_wanted(run)) fault(run, {Verdict::no_progress, true}, describe(event));
}

void on(RunStatus& run, CheckpointCompleted const& event) {
    run.checkpoint_step = event.step;
    run.checkpoint_path = event.path;
}

void on(RunStatus& run, StopRequested const& event) {
    StopMode const asked = event.now ? StopMode::now : StopMode::graceful;
    run.stopped_by_user = run.stopped_by_user || event.by_user;
    if (run.state == RunState::finishing) {
        if (run.stop == StopMode::graceful) run.stop = asked;
        return;
    }
    // Workers of a broken attempt are already being stopped.
    bool const broken = run.state == RunState::relaunching && !run.asked_to_save;
    run.asked_to_save = false;
    run.stop = broken ? StopMode::now : asked;
    finish(run, {Verdict::cancelled}, event.reason);
}

void on(RunStatus& run, RelaunchAsked const& event) {
    if (!takes_relaunch(run, event.now)) return;
    run.asked_to_save = !event.now;
    if (run.state == RunState::relaunching) return;  // they are stopped at once instead
    ++run.asked_relaunches;
    run.state = RunState::relaunching;
    run.ordered = run.cause_is_secondary = false;
    run.cause = describe(event);
    advance(run);
}

void on(RunStatus& run, NodeStopped const& event) {
    NodeStatus* node = node_at(run, event.node);
    if (node == nullptr) return;
    node->stopped = true;
    node->processes_left = event.processes_left;
    if (!event.gpu_fault.empty()) node->gpu_fault = event.gpu_fault;
    FailureClass const failure_class{Verdict::node_fault, true};
    std::string cause =
        fmt::format("node {} stopped its workers: it had no controller", event.node);
    bool const wanted = workers_wanted(run);
    if (wanted && !node->finished) return fault(run, failure_class, std::move(cause));
    // Ranks of other nodes that failed meanwhile had lost their peers.
    if (!wanted && event.unasked) improve_cause(run, failure_class, std::move(cause));
    if (run.state == RunState::relaunching && event.processes_left > 0) {
        finish(run, {Verdict::node_fault},
               fmt::format("{} processes on node {} could not be stopped", event.processes_left,
                           event.node));
    } else {
        advance(run);
    }
}

void on(RunStatus& run, RunEnded const& event) {
    run.state = RunState::done;
    run.verdict = event.verdict;
    run.exit_code = event.exit_code;
    run.cause = event.cause;
}

void on(RunStatus&, RunNotice const&) {}
void on(RunStatus&, EvaluationDone const&) {}
template <class Measurement>
requires is_measurement<Measurement>
void on(RunStatus&, Measurement const&) {}

/// Events that name an attempt count only for the newest one.
template <class T>
bool is_outdated(RunStatus const& run, T const& event) {
    if constexpr (requires { event.attempt; } && !std::is_same_v<T, LaunchOrdered>) {
        return event.attempt != run.attempt;
    }
    return false;
}

}  // namespace

bool all_joined(RunStatus const& run) {
    return std::ranges::all_of(run.nodes, [](NodeStatus const& node) { return node.joined; });
}

bool all_stopped(RunStatus const& run) {
    return std::ranges::all_of(run.nodes, [](NodeStatus const& node) { return node.stopped; });
}

bool takes_relaunch(RunStatus const& run, bool now) {
    return workers_wanted(run) || (now && run.asked_to_save);
}

std::string describe(RelaunchAsked const& event) {
    std::string const who = event.user.empty() ? "a user" : event.user;
    return "relaunch asked by " + who + (event.reason.empty() ? "" : ": " + event.reason);
}

void fold(RunStatus& run, RunEvent const& event) {
    std::visit(
        [&run]<class T>(T const& each) {
            bool const awaited = std::is_same_v<T, RunSubmitted> || !run.nodes.empty();
            bool const heard = run.state != RunState::done || std::is_same_v<T, ControllerStarted>;
            if (!heard || !awaited || is_outdated(run, each)) return;
            on(run, each);
        },
        event);
}

}  // namespace osora::protocol
