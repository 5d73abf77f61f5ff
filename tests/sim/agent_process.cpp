#include "tests/sim/agent_process.hpp"

#include "tests/sim/cluster.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace osora::sim {

using namespace protocol;
using namespace daemon;

AgentProcess::AgentProcess(Cluster& cluster, int pid, int node, int agent_number)
    : cluster_(cluster),
      pid_(pid),
      node_(node),
      attempt_(agent_number),
      incarnation_(cluster.controller.incarnation()),
      clock_start_(cluster.world.between(0s, 1000s)),
      last_word_(cluster.world.now()) {
    AgentOptions options;
    options.node = node;
    options.agent_number = agent_number;
    options.token = cluster.token;
    options.boot_id = cluster.boot_id(node);
    options.host = "n" + std::to_string(node);
    options.pid = pid;
    options.start_ticks = pid;
    options.exec = cluster.scenario.exec;
    options.linger = cluster.scenario.linger;
    options.lease = cluster.scenario.lease;
    options.health_every = 500ms;  // runs are short here
    core_ = std::make_unique<AgentCore>(std::move(options), now());
    connect_later(0s);
    set_timer();
}

Now AgentProcess::now() const {
    return {cluster_.world.now() + clock_start_, 0};
}

bool AgentProcess::frozen() const {
    return cluster_.world.now() < frozen_until_;
}

Time AgentProcess::workers_end() const {
    AgentOptions const defaults;
    // After a pause of its own it waits for a word of the controller.
    Time const thawed = frozen_until_ + std::min<Time>(cluster_.scenario.lease, 10s);
    Time const noticed = std::max(last_word_ + cluster_.scenario.lease, thawed);
    return noticed + defaults.kill_grace + 100ms;
}

void AgentProcess::end(int exit_code, int signal) {
    if (std::exchange(ended_, true)) return;
    ++timer_;
    cluster_.network.agent_died(pid_);
    cluster_.agent_ended(pid_, exit_code, signal);  // the next event destroys this object
}

void AgentProcess::freeze(Time until) {
    frozen_until_ = std::max(frozen_until_, until);
    cluster_.world.at(until, [&cluster = cluster_, pid = pid_] {
        AgentProcess* agent = cluster.agent(pid);
        if (agent == nullptr || agent->frozen()) return;
        for (AgentInput& each : std::exchange(agent->backlog_, {})) agent->handle(std::move(each));
        agent->handle(AgentTick{});
        agent->set_timer();
    });
}

void AgentProcess::handle(AgentInput input) {
    if (ended_) return;
    if (frozen()) {
        if (!std::holds_alternative<AgentTick>(input)) backlog_.push_back(std::move(input));
        return;
    }
    if (std::holds_alternative<ControllerSaid>(input)) last_word_ = cluster_.world.now();
    take(core_->handle(now(), input));
}

void AgentProcess::connected(int connection) {
    connection_ = connection;
    backoff_ = 50ms;
    handle(ControllerConnected{});
}

void AgentProcess::disconnected(int connection) {
    if (ended_ || connection != connection_) return;
    connection_ = -1;
    handle(ControllerDisconnected{});
    connect_later(0s);
}

void AgentProcess::heard(int connection, ToAgent const& message) {
    if (connection == connection_) handle(ControllerSaid{message});
}

void AgentProcess::connect_later(Time delay) {
    cluster_.world.after(delay + cluster_.world.between(1ms, 20ms),
                         [&cluster = cluster_, pid = pid_] {
                             AgentProcess* agent = cluster.agent(pid);
                             if (agent == nullptr || agent->connection_ >= 0) return;
                             if (!agent->frozen() && cluster.network.connect(pid)) return;
                             agent->backoff_ = std::min<Time>(agent->backoff_ * 2, 1s);
                             agent->connect_later(agent->backoff_);
                         });
}

void AgentProcess::take(AgentActions actions) {
    for (AgentAction const& each : actions) {
        carry_out(each);
        if (ended_) return;
    }
    set_timer();
}

void AgentProcess::carry_out(AgentAction const& action) {
    if (auto const* sent = std::get_if<SendToController>(&action)) {
        if (connection_ >= 0) cluster_.network.to_controller(connection_, sent->message);
    } else if (auto const* bind = std::get_if<BindStore>(&action)) {
        bind_store(bind->attempt);
    } else if (auto const* spawn = std::get_if<SpawnWorkers>(&action)) {
        cluster_.workers.spawn(pid_, node_, spawn->launch);
    } else if (auto const* tell = std::get_if<SendToWorkers>(&action)) {
        cluster_.workers.tell(pid_, tell->message);
    } else if (auto const* signal = std::get_if<SignalWorkers>(&action)) {
        cluster_.workers.signal(pid_, signal->signal);
    } else if (auto const* stacks = std::get_if<TakeStacksOf>(&action)) {
        cluster_.world.after(cluster_.world.between(1ms, 900ms),
                             [&cluster = cluster_, pid = pid_, attempt = stacks->attempt] {
                                 AgentProcess* agent = cluster.agent(pid);
                                 if (agent != nullptr) agent->handle(StacksReady{attempt, {}});
                             });
    } else if (std::holds_alternative<SampleHealth>(action)) {
        sample_health();
    } else if (auto const* leave = std::get_if<ExitAgent>(&action)) {
        cluster_.world.trace("agent exits", node_, pid_, leave->exit_code);
        end(leave->exit_code, 0);
    }
}

/// A machine whose GPU gets hot, slows down and has an Xid now and then; sometimes it never
/// answers.
void AgentProcess::sample_health() {
    World& world = cluster_.world;
    if (world.pick(200) == 0) return;
    HealthSampled answer;
    answer.sample.memory_available_bytes = std::int64_t{1} << (30 + world.pick(6));
    GpuHealth& gpu = answer.sample.gpus.emplace_back();
    gpu.temperature_c = static_cast<double>(60 + world.pick(40));
    if (world.pick(4) == 0) gpu.throttle_reasons = kThrottleThermalHardware;
    if (world.pick(20) == 0) gpu.xids.push_back(79);
    world.after(world.between(1ms, 300ms), [&cluster = cluster_, pid = pid_, answer] {
        if (AgentProcess* agent = cluster.agent(pid)) agent->handle(answer);
    });
}

void AgentProcess::bind_store(int attempt) {
    bool const fails = std::exchange(cluster_.no_port, false);
    cluster_.world.after(1ms, [&cluster = cluster_, pid = pid_, attempt, fails] {
        if (AgentProcess* agent = cluster.agent(pid)) {
            agent->handle(StoreBound{attempt, fails ? 0 : 29'500 + attempt,
                                     fails ? "Address already in use" : "", "127.0.0.1"});
        }
    });
}

void AgentProcess::set_timer() {
    MonotonicTime const due = core_->next_deadline();
    std::uint64_t const timer = ++timer_;
    if (due == kNever || ended_) return;
    cluster_.world.at(due - clock_start_, [&cluster = cluster_, pid = pid_, timer] {
        AgentProcess* agent = cluster.agent(pid);
        if (agent != nullptr && agent->timer_ == timer) agent->handle(AgentTick{});
    });
}

}  // namespace osora::sim
