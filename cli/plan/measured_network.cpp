// Skips files that cannot be read or have another version: a plan does not need a measured network.
#include "cli/plan/measured_network.hpp"

#include "base/text/units.hpp"
#include "plan/config/candidate_hosts.hpp"
#include "protocol/json_file.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNetworkFilesMax = 32;  // the newest
constexpr double kNetworkAgeMax_s = 30 * 24 * 3600.0;

bool covers(topology::ProbeResult const& result, std::vector<std::string> const& hosts, int nodes) {
    if (hosts.empty()) return true;
    auto const known = std::ranges::count_if(
        hosts, [&](std::string const& host) { return std::ranges::count(result.nodes, host) > 0; });
    return known >= std::min<std::ptrdiff_t>(nodes, std::ssize(hosts));
}

bool has_collectives(topology::ProbeResult const& result, bool gpu) {
    return std::ranges::any_of(result.collectives, [&](auto const& each) {
        return each.backend == (gpu ? "nccl" : "gloo");
    });
}

}  // namespace

std::vector<CachedProbe> cached_probes(fs::path const& state) {
    std::vector<CachedProbe> files;
    std::error_code error;
    for (fs::directory_iterator at(protocol::StatePaths{state}.probes(), error), end;
         !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().extension() != ".json") continue;
        files.push_back({at->path(), at->last_write_time(ignored)});
    }
    std::ranges::sort(files, std::greater(), &CachedProbe::written);
    return files;
}

std::optional<plan::MeasuredNetwork> measured_network(Context const& context,
                                                      plan::RunConfig const& config, bool gpu,
                                                      std::int64_t wall_us) {
    auto const state = state_dir(context.environment);
    if (config.resources.nodes < 2 || state.has_error()) return {};
    auto const hosts = plan::candidate_hosts(config, context.environment);
    std::optional<topology::ProbeResult> best;
    auto const rank = [&](topology::ProbeResult const& each) {
        bool const timed = has_collectives(each, gpu);
        return std::pair(timed, timed ? each.collectives_wall_us : each.wall_us);
    };
    auto files = cached_probes(*state);
    if (files.size() > kNetworkFilesMax) files.resize(kNetworkFilesMax);
    for (auto const& file : files) {
        auto result = protocol::read_json_file<topology::ProbeResult>(file.path);
        if (result.has_error() || result->backend != config.resources.backend) continue;
        double const age_s = static_cast<double>(wall_us - rank(*result).second) / 1e6;
        if (age_s < 0 || age_s > kNetworkAgeMax_s) continue;
        if (!covers(*result, hosts, config.resources.nodes)) continue;
        if (!best || rank(*result) > rank(*best)) best = std::move(*result);
    }
    if (!best) return {};
    double const age_s = static_cast<double>(wall_us - rank(*best).second) / 1e6;
    auto source = fmt::format("{} nodes, {} ago", best->nodes.size(), format_seconds(age_s));
    return plan::MeasuredNetwork{std::move(*best), std::move(source)};
}

}  // namespace osora::cli
