#include "topology/probe/probe_cache.hpp"

#include "base/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

struct KeptFile {
    fs::path path;
    fs::file_time_type written;
};

bool measured_enough(ProbeResult const& probe, ProbedHosts const& hosts) {
    auto const known = std::ranges::count_if(hosts.names, [&](std::string const& name) {
        return std::ranges::find(probe.nodes, name) != probe.nodes.end();
    });
    return static_cast<std::size_t>(known) >= hosts.at_least;
}

}  // namespace

std::optional<ProbeResult> ProbeCache::newest(ProbedHosts const& hosts, double age_max_s,
                                              ProbeTimeOf const& time_of) const {
    std::optional<ProbeResult> best;
    ProbeTime best_time;
    for (auto const& file : files(hosts)) {
        auto probe = read_(file);
        if (probe.has_error() || !(hosts.exactly || measured_enough(*probe, hosts))) continue;
        auto const time = time_of ? time_of(*probe) : ProbeTime{.wall_us = probe->wall_us};
        if (!time) continue;
        double const age = age_s(time->wall_us);
        if (age < 0 || age > age_max_s || (best && *time <= best_time)) continue;
        best = std::move(*probe);
        best_time = *time;
    }
    return best;
}

double ProbeCache::age_s(std::int64_t wall_us) const {
    return static_cast<double>(now_us_ - wall_us) / 1e6;
}

std::string ProbeCache::name_of(std::vector<std::string> hosts) {
    constexpr std::size_t kNameDigits = 16;
    std::ranges::sort(hosts);
    auto const name = sha256_hex(fmt::format("{}", fmt::join(hosts, "\n")));
    return name.substr(0, kNameDigits) + ".json";
}

/// Those that may hold a probe of the hosts, the newest first.
std::vector<fs::path> ProbeCache::files(ProbedHosts const& hosts) const {
    if (hosts.exactly) return {folder_ / name_of(hosts.names)};
    std::vector<KeptFile> kept;
    std::error_code error;
    for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().extension() != ".json") continue;
        kept.push_back({at->path(), at->last_write_time(ignored)});
    }
    std::ranges::sort(kept, [](KeptFile const& a, KeptFile const& b) {
        return a.written != b.written ? a.written > b.written : a.path < b.path;
    });
    if (kept.size() > kFilesMax) kept.resize(kFilesMax);
    std::vector<fs::path> paths;
    for (auto& each : kept) paths.push_back(std::move(each.path));
    return paths;
}

}  // namespace osora::topology
