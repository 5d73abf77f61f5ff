#include "tests/sim/simulate.hpp"

#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <boost/describe.hpp>

namespace osora::sim {

SimResult simulate(std::uint64_t seed, int agents, bool print) {
    Cluster cluster(seed, agents, print);
    Ending const ending = cluster.run();
    SimResult result;
    result.violations = cluster.world.violations();
    if (result.violations.empty()) result.violations = judge(cluster.scenario, ending);
    result.trace_hash = cluster.world.trace_hash();
    result.virtual_s = std::chrono::duration<double>(cluster.world.now()).count();
    for (Fault const& each : cluster.scenario.faults) {
        result.faults_fired += each.fired;
        result.summary +=
            fmt::format("{}{}; ", name_of(each.kind), each.fired ? "" : " (not fired)");
    }
    result.summary +=
        fmt::format("{} after {} of {} relaunches, {:.1f} s{}{}",
                    boost::describe::enum_to_string(ending.status.verdict, "?"),
                    ending.status.restarts, ending.status.restarts_max, result.virtual_s,
                    ending.status.cause.empty() ? "" : ": ", ending.status.cause);
    return result;
}

std::string replay_command(std::uint64_t seed, int agents) {
    return agents == 16 ? fmt::format("osora-sim --seed {} --trace", seed)
                        : fmt::format("osora-sim --seed {} --agents {} --trace", seed, agents);
}

}  // namespace osora::sim
