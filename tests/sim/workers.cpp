#include "tests/sim/workers.hpp"

#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace osora::sim {

using namespace protocol;

Worker* Workers::worker(int pid) {
    auto const found = alive_.find(pid);
    return found != alive_.end() ? &found->second : nullptr;
}

std::vector<Worker*> Workers::members(int attempt) {
    std::vector<Worker*> found;
    for (auto& [pid, each] : alive_) {
        if (each.attempt == attempt) found.push_back(&each);
    }
    return found;
}

int Workers::count_of_agent(int agent_pid) const {
    return static_cast<int>(std::ranges::count_if(
        alive_, [&](auto const& each) { return each.second.agent_pid == agent_pid; }));
}

int Workers::count_on_node(int node) const {
    return static_cast<int>(
        std::ranges::count_if(alive_, [&](auto const& each) { return each.second.node == node; }));
}

void Workers::spawn(int agent_pid, int node, LaunchWorkers const& launch) {
    for (auto const& [pid, each] : alive_) {
        if (each.node == node) {
            cluster_.world.violated(
                fmt::format("attempt {} starts on node {} while attempt {} lives", launch.attempt,
                            node, each.attempt));
        }
    }
    cluster_.world.trace("spawn", node, launch.attempt);
    groups_[launch.attempt].world_size = launch.world_size;
    for (int i = 0; i < launch.local_world_size; ++i) {
        int const pid = ++last_pid_;
        int const rank = launch.first_rank + i;
        Worker born;
        born.agent_pid = agent_pid;
        born.node = node;
        born.rank = rank;
        born.attempt = launch.attempt;
        born.pid = pid;
        born.ignores_term = cluster_.world.chance(20);
        alive_[pid] = born;
        cluster_.world.after(0s, [this, agent_pid, rank, pid, attempt = launch.attempt] {
            if (AgentProcess* agent = cluster_.agent(agent_pid)) {
                agent->handle(daemon::WorkerSpawned{attempt, rank, pid, ""});
            }
        });
        cluster_.world.after(cluster_.world.between(50ms, 400ms), [this, pid] { start(pid); });
    }
}

void Workers::start(int pid) {
    Worker* born = worker(pid);
    if (born == nullptr || born->hung || born->ending) return;
    say(*born, WorkerHello{kWorkerProtocol, born->rank, pid, saved_step_, {}});
    say(*born, PhaseChanged{Phase::loading, 0});
    cluster_.world.after(cluster_.world.between(50ms, 800ms), [this, pid] {
        Worker* loaded = worker(pid);
        if (loaded == nullptr || loaded->hung || loaded->ending) return;
        loaded->ready = true;
        Group& group = groups_[loaded->attempt];
        say(*loaded, PhaseChanged{Phase::first_step, 0});
        if (++group.ready < group.world_size || group.broken) return;
        group.step = saved_step_;
        begin_step(loaded->attempt);
    });
}

void Workers::say(Worker const& worker, FromWorker const& message) {
    if (cluster_.scenario.exec) return;
    int const agent_pid = worker.agent_pid, attempt = worker.attempt, rank = worker.rank;
    cluster_.world.after(1ms, [this, agent_pid, attempt, rank, message] {
        if (AgentProcess* agent = cluster_.agent(agent_pid)) {
            agent->handle(daemon::WorkerSaid{attempt, rank, message});
        }
    });
}

void Workers::all_say(int attempt, FromWorker const& message) {
    for (Worker* each : members(attempt)) {
        if (!each->hung) say(*each, message);
    }
}

void Workers::begin_step(int attempt) {
    cluster_.world.after(cluster_.scenario.step_time, [this, attempt] { end_step(attempt); });
}

void Workers::end_step(int attempt) {
    Group& group = groups_[attempt];
    auto const ranks = members(attempt);
    bool const complete = static_cast<int>(ranks.size()) == group.world_size && !group.broken;
    if (!complete || std::ranges::any_of(ranks, &Worker::hung)) return;
    if (group.step < cluster_.scenario.steps) {
        StepMetrics metrics;
        metrics.step = group.step;
        metrics.bucket = "64x64x8";
        metrics.step_time_s = std::chrono::duration<double>(cluster_.scenario.step_time).count();
        metrics.samples = 1;
        metrics.collectives.resize(1);
        metrics.collectives.front().name = "stop vote";
        metrics.collectives.front().ranks = group.world_size;
        metrics.collectives.front().calls = 1;
        all_say(attempt, metrics);
        ++group.step;
    }
    all_say(attempt, PhaseChanged{Phase::step, 0});
    bool const stopped = std::ranges::any_of(ranks, &Worker::asked_to_stop);
    bool const last = group.step >= cluster_.scenario.steps;
    if (stopped || last || group.step % cluster_.scenario.checkpoint_every == 0) save(attempt);
    if (stopped || last) {
        finish(attempt, !last);
    } else {
        begin_step(attempt);
    }
}

void Workers::save(int attempt) {
    saved_step_ = groups_[attempt].step;
    for (Worker* each : members(attempt)) {
        if (each->rank == 0) say(*each, CheckpointSaved{saved_step_, "checkpoint", 0.1, 1});
    }
}

void Workers::finish(int attempt, bool stopped) {
    for (Worker* each : members(attempt)) finish_one(*each, groups_[attempt].step, stopped);
}

void Workers::finish_one(Worker& worker, int steps, bool stopped) {
    worker.ending = true;
    say(worker, WorkerFinished{steps, stopped});
    cluster_.world.after(cluster_.world.between(0ms, 100ms),
                         [this, pid = worker.pid] { end(pid, 0, 0); });
}

void Workers::tell(int agent_pid, StopWorker const&) {
    std::vector<int> pids;
    for (auto& [pid, each] : alive_) {
        if (each.agent_pid == agent_pid) pids.push_back(pid);
    }
    for (int pid : pids) {
        cluster_.world.after(1ms, [this, pid] {
            Worker* reported = worker(pid);
            if (reported == nullptr || reported->hung || reported->ending) return;
            reported->asked_to_stop = true;
            // Before training there is nothing to agree on.
            Group const& group = groups_[reported->attempt];
            if (group.ready < group.world_size) finish_one(*reported, saved_step_, true);
        });
    }
}

void Workers::signal(int agent_pid, int signal) {
    for (auto const& [pid, each] : alive_) {
        if (each.agent_pid != agent_pid || (signal == SIGTERM && each.ignores_term)) continue;
        cluster_.world.after(cluster_.world.between(0ms, 20ms),
                             [this, pid = pid, signal] { end(pid, 0, signal); });
    }
}

void Workers::agent_died(int agent_pid) {
    for (auto const& [pid, each] : alive_) {
        if (each.agent_pid != agent_pid) continue;
        cluster_.world.after(cluster_.world.between(0ms, 10ms),
                             [this, pid = pid] { end(pid, 0, SIGKILL); });
    }
}

void Workers::end(int pid, int exit_code, int signal) {
    Worker const* dying = worker(pid);
    if (dying == nullptr) return;
    Worker const was = *dying;
    alive_.erase(pid);
    cluster_.world.trace("worker ends", was.rank, exit_code, signal);
    int const agent_pid = was.agent_pid;
    daemon::WorkerExited exited{was.attempt, was.rank, exit_code, signal, false};
    if (exit_code == 17) exited.last_line = "CUDA error: uncorrectable ECC error encountered";
    cluster_.world.after(1ms, [this, agent_pid, exited] {
        if (AgentProcess* agent = cluster_.agent(agent_pid)) agent->handle(exited);
    });
    if (!was.ending) break_group(was.attempt);
}

void Workers::hang(int pid) {
    worker(pid)->hung = true;
}

/// The survivors notice on their next exchange, later, or never.
void Workers::break_group(int attempt) {
    Group& group = groups_[attempt];
    if (group.broken) return;
    group.broken = true;
    for (Worker const* each : members(attempt)) {
        if (each->hung || each->ending || cluster_.world.chance(30)) continue;
        int const code = cluster_.scenario.exec ? 1 : 10;
        cluster_.world.after(cluster_.world.between(0ms, 1500ms), [this, pid = each->pid, code] {
            Worker const* survivor = worker(pid);
            if (survivor != nullptr && !survivor->hung && !survivor->ending) end(pid, code, 0);
        });
    }
}

Worker* Workers::pick() {
    std::vector<Worker*> candidates;
    for (auto& [pid, each] : alive_) {
        bool const whole = !groups_[each.attempt].broken;
        if (!each.hung && !each.ending && !each.asked_to_stop && whole) candidates.push_back(&each);
    }
    if (candidates.empty()) return nullptr;
    return candidates[cluster_.world.pick(candidates.size())];
}

}  // namespace osora::sim
