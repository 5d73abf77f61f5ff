#include "tests/sim/scenario.hpp"

#include <algorithm>
#include <array>

namespace osora::sim {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(FaultKind::count)> kNames{
    "kill worker",      "crash worker", "fail worker",     "vanish worker",   "hang worker",
    "kill agent",       "freeze agent", "kill controller", "lose controller", "freeze controller",
    "reset connection", "partition",    "slow disk",       "full disk",       "jump clock",
    "no port",          "late agent",   "stop gracefully", "stop twice",      "stop now",
    "break lifeline",   "ask relaunch"};

// 10: the rank's own failure once, usually a secondary failure; the others end a run for good.
constexpr std::array kCodes{1, 10, 11, 12, 13, 14, 15, 17, 93};

Fault make_fault(World& world, Scenario const& scenario) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(world.pick(static_cast<std::uint64_t>(FaultKind::count)));
    // From two seconds before the workers run to somewhat after their end.
    auto const length = scenario.step_time * scenario.steps + std::chrono::seconds(4);
    fault.when = world.between(Time{}, length);
    fault.length = world.chance(50) ? world.between(100ms, 4s) : world.between(4s, 25s);
    fault.node = static_cast<int>(world.pick(static_cast<std::uint64_t>(scenario.nodes)));
    // Nobody notices that a user program does nothing, or that its end came too early.
    bool const silent =
        fault.kind == FaultKind::hang_worker || fault.kind == FaultKind::vanish_worker;
    if (scenario.exec && silent) fault.kind = FaultKind::kill_worker;
    fault.code = kCodes[world.pick(kCodes.size())];
    if (fault.kind == FaultKind::late_agent || fault.kind == FaultKind::no_port) fault.when = {};
    if (fault.kind == FaultKind::no_port) fault.node = 0;
    return fault;
}

}  // namespace

std::string_view name_of(FaultKind kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

Scenario make_scenario(World& world, int agents) {
    Scenario scenario;
    scenario.nodes = agents;
    scenario.ranks_per_node = world.chance(70) ? 1 : 2 + static_cast<int>(world.pick(3));
    scenario.steps = 5 + static_cast<int>(world.pick(25));
    scenario.restarts_max = static_cast<int>(world.pick(4));
    scenario.checkpoint_every = 2 + static_cast<int>(world.pick(8));
    scenario.step_time = world.between(100ms, 900ms);
    scenario.network_delay_max =
        world.chance(80) ? world.between(1ms, 50ms) : world.between(50ms, 400ms);
    scenario.linger = world.chance(70) ? Time{} : world.between(1s, 30s);
    scenario.lease = world.chance(60) ? Time(5s) : Time(60s);
    scenario.exec = world.chance(10);
    // A single fault shows exactly its effect; several faults show how they interact.
    int const faults = world.chance(10)   ? 0
                       : world.chance(65) ? 1
                                          : 2 + static_cast<int>(world.pick(3));
    for (int i = 0; i < faults; ++i) scenario.faults.push_back(make_fault(world, scenario));
    std::ranges::stable_sort(scenario.faults, {}, &Fault::when);
    return scenario;
}

}  // namespace osora::sim
