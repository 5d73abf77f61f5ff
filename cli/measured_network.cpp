// A file that cannot be read or is of another version is left out: a plan without a network is one.
#include "cli/measured_network.hpp"

#include "base/files.hpp"
#include "base/host_list.hpp"
#include "base/units.hpp"
#include "plan/config/ssh_hosts.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = 32;  // the newest
constexpr std::int64_t kBytesMax = 64 << 20;
constexpr double kAgeMax_s = 30 * 24 * 3600.0;

std::vector<fs::path> newest_files(fs::path const& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().extension() != ".json") continue;
        files.emplace_back(at->last_write_time(ignored), at->path());
    }
    std::ranges::sort(files, std::greater<>());
    std::vector<fs::path> paths;
    for (auto& [time, path] : files) {
        if (paths.size() < kFilesMax) paths.push_back(std::move(path));
    }
    return paths;
}

/// Empty: not known.
std::vector<std::string> hosts_of(Context const& context, plan::RunConfig const& config) {
    std::vector<std::string> hosts;
    if (config.resources.backend == "ssh") {
        auto const listed = plan::usable_hosts(plan::parse_host_list(config.ssh.hosts).hosts,
                                               config.faults.exclude_nodes);
        for (auto const& each : listed) hosts.push_back(each.host);
    } else {
        auto names = expand_host_list(variable_or(context.environment, "SLURM_JOB_NODELIST", ""));
        if (names.has_value()) hosts = std::move(*names);
    }
    return hosts;
}

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

std::optional<plan::MeasuredNetwork> measured_network(Context const& context,
                                                      plan::RunConfig const& config, bool gpu,
                                                      std::int64_t wall_us) {
    auto const state = state_dir(context.environment);
    if (config.resources.nodes < 2 || state.has_error()) return {};
    auto const hosts = hosts_of(context, config);
    std::optional<topology::ProbeResult> best;
    auto const rank = [&](topology::ProbeResult const& each) {
        bool const timed = has_collectives(each, gpu);
        return std::pair(timed, timed ? each.collectives_wall_us : each.wall_us);
    };
    for (auto const& path : newest_files(*state / "probes")) {
        auto const text = read_file(path, kBytesMax);
        if (text.has_error()) continue;
        auto result = protocol::decode<topology::ProbeResult>(*text);
        if (result.has_error() || result->backend != config.resources.backend) continue;
        double const age_s = static_cast<double>(wall_us - rank(*result).second) / 1e6;
        if (age_s < 0 || age_s > kAgeMax_s) continue;
        if (!covers(*result, hosts, config.resources.nodes)) continue;
        if (!best || rank(*result) > rank(*best)) best = std::move(*result);
    }
    if (!best) return {};
    double const age_s = static_cast<double>(wall_us - rank(*best).second) / 1e6;
    auto source = fmt::format("{} nodes, {} ago", best->nodes.size(), format_seconds(age_s));
    return plan::MeasuredNetwork{std::move(*best), std::move(source)};
}

}  // namespace osora::cli
