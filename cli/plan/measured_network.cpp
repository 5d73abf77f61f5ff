#include "cli/plan/measured_network.hpp"

#include "base/text/units.hpp"
#include "plan/config/candidate_hosts.hpp"
#include "protocol/json_file.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::cli {
namespace {

constexpr double kNetworkAgeMax_s = 30 * 24 * 3600.0;

bool has_collectives(topology::ProbeResult const& result, bool gpu) {
    return std::ranges::any_of(result.collectives, [&](auto const& each) {
        return each.backend == (gpu ? "nccl" : "gloo");
    });
}

}  // namespace

topology::ProbeCache probe_cache(std::filesystem::path const& state, std::int64_t wall_us) {
    return {protocol::StatePaths{state}.probes(), protocol::read_json_file<topology::ProbeResult>,
            wall_us};
}

std::optional<plan::MeasuredNetwork> measured_network(Context const& context,
                                                      plan::RunConfig const& config, bool gpu,
                                                      std::int64_t wall_us) {
    auto const state = state_dir(context.environment);
    if (config.resources.nodes < 2 || state.has_error()) return {};
    topology::ProbedHosts hosts{.names = plan::candidate_hosts(config, context.environment)};
    hosts.at_least = std::min(hosts.names.size(), static_cast<std::size_t>(config.resources.nodes));
    auto const time_of = [&](topology::ProbeResult const& each) {
        bool const timed = has_collectives(each, gpu);
        topology::ProbeTime const time{timed, timed ? each.collectives_wall_us : each.wall_us};
        bool const serves = each.backend == config.resources.backend;
        return serves ? std::optional(time) : std::nullopt;
    };
    auto const cache = probe_cache(*state, wall_us);
    auto best = cache.newest(hosts, kNetworkAgeMax_s, time_of);
    if (!best) return {};
    auto source = fmt::format("{} nodes, {} ago", best->nodes.size(),
                              format_seconds(cache.age_s(time_of(*best)->wall_us)));
    return plan::MeasuredNetwork{std::move(*best), std::move(source)};
}

}  // namespace osora::cli
