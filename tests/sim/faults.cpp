// Injects the faults of the seed into a run, and records what a user must read as the cause.
#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <csignal>

namespace osora::sim {

using namespace protocol;

void Cluster::inject(Fault& fault) {
    switch (fault.kind) {
        case FaultKind::kill_worker:
        case FaultKind::crash_worker:
        case FaultKind::fail_worker:
        case FaultKind::vanish_worker:
        case FaultKind::hang_worker:
            inject_worker(fault);
            break;
        case FaultKind::kill_agent:
        case FaultKind::freeze_agent:
        case FaultKind::reset_connection:
        case FaultKind::partition:
        case FaultKind::no_port:
            inject_agent(fault);
            break;
        case FaultKind::late_agent:  // start_agent() looks for it
        case FaultKind::count:
            return;
        case FaultKind::kill_controller:
        case FaultKind::lose_controller:
        case FaultKind::freeze_controller:
        case FaultKind::slow_disk:
        case FaultKind::full_disk:
        case FaultKind::jump_clock:
            inject_controller(fault);
            break;
        case FaultKind::stop_gracefully:
        case FaultKind::stop_twice:
        case FaultKind::stop_now:
        case FaultKind::break_lifeline:
            inject_stop(fault);
            break;
        case FaultKind::ask_relaunch:
            fault.fired = controller.workers_are_wanted();
            if (!fault.fired) break;
            fault.cause = "relaunch asked by alice";
            controller.handle(daemon::AskedRelaunch{fault.code % 2 == 0, "alice", ""});
            break;
    }
    if (fault.fired) world.trace(name_of(fault.kind), fault.node, fault.code, fault.length / 1ms);
}

void Cluster::inject_worker(Fault& fault) {
    // Only what can still be reported to a controller counts: an attempt that is ending hides it.
    Worker const* victim = controller.workers_are_wanted() ? workers.pick() : nullptr;
    if (victim == nullptr) return;
    fault.fired = true;
    std::string const who = fmt::format("rank {} on node {} ", victim->rank, victim->node);
    int const pid = victim->pid;
    if (fault.kind == FaultKind::kill_worker || fault.kind == FaultKind::crash_worker) {
        int const signal = fault.kind == FaultKind::kill_worker ? SIGKILL : SIGSEGV;
        fault.cause = who + fmt::format("was killed by signal {}", signal);
        workers.end(pid, 0, signal);
    } else if (fault.kind == FaultKind::fail_worker) {
        fault.cause = who + fmt::format("exited with {}", fault.code);
        workers.end(pid, fault.code, 0);
    } else if (fault.kind == FaultKind::vanish_worker) {
        fault.cause = who + "exited before it had finished";
        workers.end(pid, 0, 0);
    } else {
        fault.cause = "made no progress for";
        workers.hang(pid);
    }
}

void Cluster::inject_agent(Fault& fault) {
    fault.cause = fmt::format("node {} ", fault.node);
    if (fault.kind == FaultKind::no_port) {
        fault.fired = no_port = true;
        return;
    }
    AgentProcess* victim = agent_of(fault.node);
    if (victim == nullptr) return;
    fault.fired = true;
    if (fault.kind == FaultKind::kill_agent) {
        fault.cause += "was lost: agent was killed by signal 9";
        victim->end(0, SIGKILL);
    } else if (fault.kind == FaultKind::freeze_agent) {
        fault.cause += "fell silent for";
        victim->freeze(world.now() + fault.length);
    } else if (fault.kind == FaultKind::partition) {
        fault.cause += "fell silent for";
        network.cut(fault.node, world.now() + fault.length, fault.code % 2 == 0);
    } else {
        network.reset(fault.node);
    }
}

void Cluster::inject_controller(Fault& fault) {
    fault.fired = controller.alive() && !controller.finished();
    if (!fault.fired) return;
    Time const until = world.now() + fault.length;
    if (fault.kind == FaultKind::kill_controller) {
        controller.kill();
        world.at(until, [this] { controller.start(); });
    } else if (fault.kind == FaultKind::lose_controller) {
        controller.kill();
    } else if (fault.kind == FaultKind::freeze_controller) {
        controller.freeze(until);
    } else if (fault.kind == FaultKind::slow_disk) {
        disk.slow_until = until;
    } else if (fault.kind == FaultKind::full_disk) {
        disk.full = true;
    } else {
        bool const back = world.chance(50);
        wall_offset += back ? -fault.length * 1000 : fault.length * 1000;
    }
}

void Cluster::ask_to_stop(bool now) {
    if (!controller.alive()) return;
    if (ending_.stop_asked == Time{}) ending_.stop_asked = world.now();
    controller.handle(daemon::StopAsked{now, now ? "osora cancel --now" : "Ctrl-C"});
}

void Cluster::inject_stop(Fault& fault) {
    RunState const state = controller.alive() ? controller.status().state : RunState::done;
    fault.fired = state != RunState::finishing && state != RunState::done;
    if (!fault.fired) return;
    fault.cause = fault.kind == FaultKind::stop_now ? "osora cancel --now" : "Ctrl-C";
    if (fault.kind == FaultKind::break_lifeline) {
        fault.cause = "the attached osora went away";
        ending_.stop_asked = world.now();
        controller.handle(daemon::ClientGone{});
        return;
    }
    ask_to_stop(fault.kind == FaultKind::stop_now);
    if (fault.kind == FaultKind::stop_twice) {
        world.after(fault.length, [this] { ask_to_stop(false); });
    }
}

}  // namespace osora::sim
