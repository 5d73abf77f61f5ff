// The controller's goals: the next actions follow from the run's state and from what has been
// requested already. Called after every input; without a change nothing is requested twice.
#include "base/env.hpp"
#include "daemon/controller/controller_impl.hpp"
#include "protocol/verdicts.hpp"

#include <fmt/format.h>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr MonotonicTime kSaveLooked = std::chrono::seconds(5);
constexpr MonotonicTime kShortLease = std::chrono::seconds(30);
constexpr MonotonicTime kLeaseWaitedFor = std::chrono::minutes(15);

}  // namespace

void ControllerCore::Impl::pursue() {
    while (!finished_ && pursue_once()) {}
}

/// Returns whether a record changed the state, so that the goal may have changed.
bool ControllerCore::Impl::pursue_once() {
    if (!journal_error_.empty()) {
        dismiss();
        return false;
    }
    blame_hosts();
    leave_faulty_hosts();
    if (wants_agents(status_)) start_missing_agents();
    switch (goal_of(status_)) {
        case Goal::gather:
        case Goal::watch:
            return false;
        case Goal::order_launch:
            return order_launch();
        case Goal::start_workers:
            start_workers();
            return false;
        case Goal::stop_workers:
            return stop_workers();
        case Goal::end_run:
            tell_no_steps();
            record(RunEnded{status_.verdict, status_.exit_code, status_.cause});
            return true;
        case Goal::dismiss:
            dismiss();
            return false;
    }
    return false;
}

void ControllerCore::Impl::blame_hosts() {
    for (int node = 0; node < node_count(); ++node) {
        NodeLink& each = link(node);
        std::string const& fault = node_status(node).gpu_fault;
        if (fault.empty() || each.blamed == status_.attempt) continue;
        each.blamed = status_.attempt;
        act(BlameHost{node, fault, each.blamed_before == status_.attempt});
    }
}

/// Before a relaunch, while no worker runs there. A node that is lost for it costs no restart: the
/// failure that it caused has (RunStatus::rounds).
void ControllerCore::Impl::leave_faulty_hosts() {
    bool const between = status_.state == RunState::relaunching ||
                         (status_.state == RunState::launching && !status_.ordered);
    if (!options_.has_other_hosts || !between) return;
    for (int node = 0; node < node_count(); ++node) {
        NodeStatus const& known = node_status(node);
        bool const leaves = known.joined && known.stopped && !known.gpu_fault.empty() &&
                            known.losses < status_.rounds;
        if (leaves) lose(node, "its host has a faulty GPU: " + known.gpu_fault);
    }
}

void ControllerCore::Impl::start_missing_agents() {
    for (int node = 0; node < node_count(); ++node) {
        NodeLink& each = link(node);
        if (each.process != AgentProcess::none || node_status(node).joined) continue;
        each.process = AgentProcess::starting;
        each.process_deadline = now_.monotonic + options_.join_limit;
        start_agent(node);
    }
}

void ControllerCore::Impl::start_agent(int node) {
    constexpr int kAgentsOfIncarnation = 1 << 16;
    NodeLink& each = link(node);
    each.agent_number =
        std::max(each.agent_number, (status_.incarnations - 1) * kAgentsOfIncarnation) + 1;
    act(StartAgent{node, each.agent_number});
}

bool ControllerCore::Impl::order_launch() {
    int const attempt = status_.attempt + 1;
    if (store_attempt_ == attempt) {
        int const world_size = node_count() * status_.ranks_per_node;
        record(LaunchOrdered{attempt, world_size, store_host_, store_port_});
        return true;
    }
    NodeLink& first = link(0);
    if (first.connection >= 0 && first.store_asked != attempt) {
        first.store_asked = attempt;
        send(0, ReserveStore{attempt});
    }
    return false;
}

void ControllerCore::Impl::start_workers() {
    for (int node = 0; node < node_count(); ++node) {
        NodeLink& each = link(node);
        if (each.connection < 0 || each.launched >= status_.attempt) continue;
        each.launched = status_.attempt;
        LaunchWorkers launch;
        launch.attempt = status_.attempt;
        launch.world_size = node_count() * status_.ranks_per_node;
        launch.first_rank = node * status_.ranks_per_node;
        launch.local_world_size = status_.ranks_per_node;
        launch.store_host = status_.store_host;
        launch.store_port = status_.store_port;
        send(node, launch);
    }
}

bool ControllerCore::Impl::stop_workers() {
    bool changed = false;
    StopHow const how = kill_ ? StopHow::kill : stop_how(status_);
    // An agent that answers heartbeats may take long: ranks that still live end the run.
    bool const relaunch = status_.state == RunState::relaunching && how != StopHow::checkpoint;
    StopOrder const order{how, relaunch};
    auto const limit = relaunch ? options_.relaunch_kill_limit : options_.kill_limit;
    for (int node = 0; node < node_count(); ++node) {
        NodeLink& each = link(node);
        if (node_status(node).stopped) continue;
        if (how != StopHow::checkpoint) {
            each.stop_deadline = std::min(each.stop_deadline, now_.monotonic + limit);
        }
        if (each.process == AgentProcess::none) {
            // Nothing is left that could stop or count the workers.
            record(NodeStopped{status_.attempt, node, -1});
            changed = true;
        } else if (each.connection >= 0 && each.stop_sent != order) {
            each.stop_sent = order;
            std::string const reason = status_.cause.empty() ? "the run is over" : status_.cause;
            send(node, StopAttempt{status_.attempt, how, reason, relaunch});
        }
    }
    return changed;
}

/// The run is over (or the journal failed): dismiss the agents, then finish.
void ControllerCore::Impl::dismiss() {
    bool all_gone = true;
    for (int node = 0; node < node_count(); ++node) {
        NodeLink& each = link(node);
        bool const silent = each.process == AgentProcess::up && each.connection < 0;
        if (silent || each.process == AgentProcess::starting) stop_agent(node);
        if (each.process == AgentProcess::unknown) {
            if (node_status(node).joined) {
                stop_agent(node);
            } else {
                each.process = AgentProcess::none;
            }
        }
        if (each.process == AgentProcess::up && !each.dismissed) {
            each.dismissed = true;
            each.stop_deadline = now_.monotonic + options_.kill_limit;
            send(node, Dismiss{}, journal_error_.empty());
        }
        all_gone = all_gone && each.process == AgentProcess::none;
    }
    if (!all_gone) return;
    finished_ = true;
    if (journal_error_.empty()) {
        act(Finish{status_.exit_code, status_.cause});
    } else {
        act(Finish{1, "journal: " + journal_error_});
    }
}

void ControllerCore::Impl::check_deadlines() {
    std::vector<int> late;
    for (auto const& [id, each] : connections_) {
        if (each.node < 0 && now_.monotonic >= each.hello_deadline) late.push_back(id);
    }
    for (int const id : late) close(id, "no hello in time");
    if (now_.monotonic >= graceful_deadline_) {
        if (is_saving()) {
            graceful_deadline_ = now_.monotonic + kSaveLooked;
        } else {
            give_up_graceful_stop("the graceful stop took too long");
        }
    }
    if (inquiry_ && now_.monotonic >= inquiry_->deadline) end_inquiry();
    if (now_.monotonic >= steps_deadline()) write_steps(true);
    for (int node = 0; node < node_count(); ++node) check_process(node);
}

/// A rank writes a checkpoint, and its last sign of that is recent (it gives one every 10 s).
bool ControllerCore::Impl::is_saving() const {
    constexpr double kSignLate_s = 30;
    return std::ranges::any_of(links_, [&](NodeLink const& each) {
        bool const is_new = each.connection >= 0 && each.heartbeat.attempt == status_.attempt;
        return is_new && std::ranges::any_of(each.heartbeat.ranks, [](RankHeartbeat const& rank) {
                   return rank.phase == Phase::checkpoint && rank.silent_s < kSignLate_s;
               });
    });
}

void ControllerCore::Impl::give_up_graceful_stop(std::string why) {
    graceful_deadline_ = kNever;
    bool const relaunch = status_.asked_to_save;
    if ((status_.stop != StopMode::graceful && !relaunch) || all_stopped(status_)) return;
    kill_ = true;
    if (relaunch) {
        record(RelaunchAsked{true, "osora", std::move(why)});
    } else {
        record(StopRequested{true, std::move(why), false});
    }
}

void ControllerCore::Impl::check_process(int node) {
    NodeLink& each = link(node);
    bool const due = now_.monotonic >= each.process_deadline;
    switch (each.process) {
        case AgentProcess::none:
            return;
        case AgentProcess::unknown:
            if (!due) return;
            if (node_status(node).joined) {
                double const limit_s = in_seconds(options_.adopt_limit);
                lose(node, limit_s > 0
                               ? fmt::format("agent did not come back within {:.0f} s", limit_s)
                               : "agent ended with its controller");
            } else {
                each.process = AgentProcess::none;
            }
            return;
        case AgentProcess::starting:
            if (!due) return;
            lose(node, fmt::format("agent did not join within {:.0f} s",
                                   in_seconds(options_.join_limit)));
            return;
        case AgentProcess::up:
            if (now_.monotonic >= each.stop_deadline) {
                stop_agent(node);
            } else if (now_.monotonic >= liveness_.deadline(node)) {
                lose(node, kFellSilent, liveness_.silence(node, now_.monotonic));
            }
            return;
        case AgentProcess::stopping:
            if (due) agent_gone(node, -1, "agent could not be stopped");
            return;
    }
}

void ControllerCore::Impl::lose(int node, std::string_view why, MonotonicTime silent) {
    if (status_.state != RunState::done) {
        tell_left_out(node);
        record(NodeLost{node, in_seconds(silent), std::string(why)});
    }
    stop_agent(node);
}

/// How long the backend may take to confirm the end of an agent. Where it cannot, a short lease has
/// ended the workers by then. A long lease is not waited for: workers of a lost node do no step
/// without their peers, and if they come back, they are ended before others start there. Only the
/// workers of a run on one node could continue alone.
MonotonicTime ControllerCore::Impl::stop_limit() const {
    if (status_.state == RunState::done) return options_.agent_stop_limit;
    bool const is_short = options_.lease <= kShortLease;
    if (!is_short && node_count() > 1) return options_.agent_stop_limit;
    auto const lease_end = std::min(options_.lease, kLeaseWaitedFor) + options_.kill_limit;
    return std::max(options_.agent_stop_limit, lease_end);
}

void ControllerCore::Impl::stop_agent(int node) {
    NodeLink& each = link(node);
    if (each.process == AgentProcess::none || each.process == AgentProcess::stopping) return;
    NodeStatus const& known = node_status(node);
    bool const earlier = each.process == AgentProcess::unknown;
    if (earlier) each.identity = {known.boot_id, known.agent_pid, known.agent_start_ticks};
    if (each.identity.pid != 0) each.given_up.push_back(each.identity);
    close(each.connection, "the agent was given up");
    if (node == 0) store_attempt_ = -1;
    each.process = AgentProcess::stopping;
    each.process_deadline = now_.monotonic + stop_limit();
    AgentIdentity const& id = each.identity;
    act(StopAgent{node, each.agent_number, id.boot_id, id.pid, id.start_ticks});
}

/// The process has ended, or its end cannot be confirmed in time (`processes_left` -1).
void ControllerCore::Impl::agent_gone(int node, int processes_left, std::string why) {
    NodeLink& each = link(node);
    bool const lost_before = each.process == AgentProcess::stopping && !node_status(node).joined;
    if (each.identity.pid != 0) each.given_up.push_back(each.identity);
    close(each.connection, "the agent is gone");
    if (node == 0) store_attempt_ = -1;
    each.process = AgentProcess::none;
    each.identity = {};
    each.stop_deadline = kNever;
    if (status_.state == RunState::done) return;
    if (!lost_before) record(NodeLost{node, 0, std::move(why)});
    if (!node_status(node).stopped) record(NodeStopped{status_.attempt, node, processes_left});
}

}  // namespace osora::daemon
