#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

namespace osora::sim {

using namespace protocol;
using namespace daemon;

namespace {

constexpr Time kRunLimit = 600s;  // of virtual time; a run ends before it

}  // namespace

Cluster::Cluster(std::uint64_t seed, int agents, bool print)
    : world(seed, print),
      scenario(make_scenario(world, agents)),
      disk(world),
      network(*this),
      workers(*this),
      controller(*this),
      backend_floor_(static_cast<std::size_t>(scenario.nodes)) {}

AgentProcess* Cluster::agent(int pid) {
    auto const found = agents_.find(pid);
    return found != agents_.end() ? found->second.get() : nullptr;
}

AgentProcess* Cluster::agent_of(int node) {
    AgentProcess* newest = nullptr;
    for (auto const& [pid, each] : agents_) {
        if (each->node() == node) newest = each.get();
    }
    return newest;
}

ControllerOptions Cluster::controller_options() const {
    ControllerOptions options;
    options.submission.run_uuid = "simulated";
    options.submission.job = scenario.exec ? "exec" : "train";
    options.submission.nodes = scenario.nodes;
    options.submission.ranks_per_node = scenario.ranks_per_node;
    options.submission.restarts_max = scenario.restarts_max;
    options.submission.steps = scenario.steps;
    options.token = token;
    options.lease = scenario.lease;
    if (scenario.long_lease()) options.adopt_limit = 15s;
    options.step_timeout_s = 10;
    options.has_other_hosts = true;
    return options;
}

Ending Cluster::run() {
    for (Fault& each : scenario.faults) {
        if (each.kind == FaultKind::no_port) inject(each);
        if (each.when > 0s) world.at(each.when, [this, &each] { inject(each); });
    }
    controller.start();
    while (world.now() < kRunLimit && world.violations().empty() && world.step()) {
        dead_.clear();
        check();
        if (nothing_left()) break;
    }
    if (!nothing_left()) {
        world.violated(fmt::format("not over after {} s: {} agents, {} workers live",
                                   kRunLimit / 1s, agents_.size(), workers.count()));
    }
    ending_.finished = controller.finished();
    ending_.exit_code = controller.exit_code();
    RunStatus replayed;
    auto const records = disk.read();
    for (JournalRecord const& each : records) fold(replayed, each.event);
    ending_.status = replayed;
    count_steps(records);
    count_collectives(records);
    if (controller.alive() && !disk.full && !(replayed == controller.status())) {
        world.violated("the journal on disk does not replay to the controller's state");
    }
    return ending_;
}

/// A rank is at most once in each step of an attempt, whatever died in between.
void Cluster::count_steps(std::vector<JournalRecord> const& records) {
    std::map<std::pair<int, int>, int> ranks;  // by attempt and step
    for (JournalRecord const& each : records) {
        auto const* steps = std::get_if<MergedSteps>(&each.event);
        for (std::size_t i = 0; steps != nullptr && i < steps->ranks.size(); ++i) {
            ranks[{steps->attempt, steps->step0 + static_cast<int>(i)}] += steps->ranks[i];
        }
    }
    int const world_size = scenario.nodes * scenario.ranks_per_node;
    for (auto const& [key, count] : ranks) {
        if (count == world_size) ++ending_.whole_steps;
        if (count <= world_size) continue;
        world.violated(fmt::format("attempt {}, step {}: {} ranks of {}", key.first, key.second,
                                   count, world_size));
    }
}

/// The reports of an attempt's nodes are in the journal once; after a success all of them, unless a
/// controller died with records that were not synced.
void Cluster::count_collectives(std::vector<JournalRecord> const& records) {
    std::map<std::pair<int, int>, int> next;               // number, by attempt and node
    std::int64_t reported = 0, in_steps = 0, at_most = 0;  // steps of ranks in the newest attempt
    int start_step = 0;
    for (JournalRecord const& each : records) {
        if (std::holds_alternative<LaunchOrdered>(each.event)) reported = in_steps = at_most = 0;
        if (auto const* rank = std::get_if<RankStarted>(&each.event)) start_step = rank->start_step;
        if (auto const* steps = std::get_if<MergedSteps>(&each.event)) {
            for (int const ranks : steps->ranks) in_steps += ranks;
            auto const end = steps->step0 + std::ssize(steps->ranks);
            at_most = (end - start_step) * scenario.nodes * scenario.ranks_per_node;
        }
        auto const* sums = std::get_if<CollectiveSums>(&each.event);
        if (sums == nullptr) continue;
        int& expected = next[{sums->attempt, sums->node}];
        if (sums->number < expected) {
            world.violated(fmt::format("attempt {}, node {}: collectives {} a second time",
                                       sums->attempt, sums->node, sums->number));
        }
        expected = sums->number + 1;
        for (auto const& sum : sums->sums) reported += sum.rank_steps;
    }
    if (!ending_.finished || ending_.exit_code != 0 || disk.full) return;
    bool const lossy = std::ranges::any_of(
        scenario.faults, [](Fault const& each) { return each.kind == FaultKind::kill_controller; });
    if (reported > at_most || (!lossy && reported != in_steps)) {
        world.violated(fmt::format("collectives of {} steps of ranks, which did {} of {}", reported,
                                   in_steps, at_most));
    }
}

bool Cluster::nothing_left() const {
    bool const over = !controller.alive() || controller.finished();
    bool const comes_back = std::ranges::any_of(scenario.faults, [&](Fault const& each) {
        return each.kind == FaultKind::kill_controller && each.fired &&
               each.when + each.length >= world.now();
    });
    return over && !comes_back && agents_.empty() && workers.count() == 0;
}

void Cluster::check() {
    for (auto const& [pid, each] : agents_) {
        bool const late = !each->frozen() && world.now() > each->workers_end();
        if (late && workers.count_of_agent(pid) > 0) {
            world.violated(fmt::format("workers of node {} outlive its lease", each->node()));
        }
    }
    if (seen_.restarts > seen_.restarts_max) world.violated("more relaunches than allowed");
}

void Cluster::recorded(RunEvent const& event) {
    bool const ends = std::holds_alternative<RunEnded>(event);
    bool const relaunches = std::holds_alternative<LaunchOrdered>(event) &&
                            seen_.restarts > static_cast<int>(ending_.causes.size());
    fold(seen_, event);
    if (relaunches || ends) ending_.causes.push_back(seen_.cause);
}

void Cluster::run_ended() {
    ended_ = true;
    for (int node = 0; node < scenario.nodes; ++node) {
        bool const counted = seen_.nodes[static_cast<std::size_t>(node)].processes_left == 0;
        if (counted && workers.count_on_node(node) > 0) {
            world.violated(fmt::format("the run is done and workers live on node {}", node));
        }
    }
}

void Cluster::controller_finished() {
    ending_.finished_at = world.now();
    for (auto const& [pid, each] : agents_) {
        bool const out_of_reach = network.backend_clear(each->node()) > world.now();
        if (!out_of_reach && !disk.full && each->incarnation() == controller.incarnation()) {
            world.violated(fmt::format("the controller leaves the agent of node {}", each->node()));
        }
    }
}

void Cluster::start_agent(int node, int agent_number) {
    Time delay = world.between(20ms, 200ms);
    for (Fault& each : scenario.faults) {
        if (each.kind != FaultKind::late_agent || each.node != node || each.fired) continue;
        each.fired = true;
        delay = each.length;
    }
    Time& floor = backend_floor_[static_cast<std::size_t>(node)];
    floor = std::max(floor, network.backend_clear(node) + delay);
    int const incarnation = controller.incarnation();
    world.at(floor, [this, node, agent_number, incarnation] {
        if (!controller.alive() || controller.incarnation() != incarnation || controller.finished())
            return;
        int const pid = ++last_pid_;
        world.trace("agent starts", node, pid);
        agents_[pid] = std::make_unique<AgentProcess>(*this, pid, node, agent_number);
    });
}

void Cluster::stop_agent(StopAgent const& order) {
    Time& floor = backend_floor_[static_cast<std::size_t>(order.node)];
    floor = std::max(floor, network.backend_clear(order.node) + world.between(1ms, 30ms));
    world.at(floor, [this, order, incarnation = controller.incarnation()] {
        kill_by_backend(order, incarnation);
    });
}

void Cluster::kill_by_backend(StopAgent const& order, int incarnation) {
    if (!controller.alive() || controller.incarnation() != incarnation) return;
    for (auto const& [pid, each] : agents_) {
        bool const own =
            each->incarnation() == incarnation && each->agent_number() == order.agent_number;
        bool const named = order.agent_number == 0 && order.pid == pid;
        if (each->node() != order.node || !(own || named)) continue;
        world.trace("backend kills agent", order.node, pid);
        each->end(0, SIGKILL);
        if (own) return;  // its end is reported like that of any child
        break;
    }
    world.after(20ms, [this, order, incarnation] {
        if (controller.incarnation() != incarnation) return;
        int const left = workers.count_on_node(order.node);
        controller.handle(AgentExited{order.node, order.agent_number, 0, SIGKILL, left, ""});
    });
}

void Cluster::agent_ended(int pid, int exit_code, int signal) {
    auto const found = agents_.find(pid);
    AgentProcess const& agent = *found->second;
    world.trace("agent ends", agent.node(), pid, signal);
    workers.agent_died(pid);
    AgentExited exited{agent.node(), agent.agent_number(), exit_code, signal, 0, ""};
    Time const seen = std::max(network.backend_clear(agent.node()), world.now()) + 20ms;
    world.at(seen, [this, exited, incarnation = agent.incarnation()]() mutable {
        if (controller.incarnation() != incarnation) return;
        exited.processes_left = workers.count_on_node(exited.node);
        controller.handle(exited);
    });
    dead_.push_back(std::move(found->second));
    agents_.erase(found);
}

}  // namespace osora::sim
