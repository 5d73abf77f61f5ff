#include "cli/bisect/probe_evidence.hpp"

#include "base/text/units.hpp"
#include "cli/plan/measured_network.hpp"
#include "protocol/json_file.hpp"
#include "topology/probe_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace osora::cli {
namespace {

constexpr double kEvidenceAgeMax_s = 7 * 86400.0;
constexpr std::size_t kEvidenceFilesMax = 64;  // number of probes that are read
constexpr std::size_t kFindingsMax = 5;

bool holds_one(topology::ProbeResult const& probe, std::vector<std::string> const& hosts) {
    return std::ranges::any_of(hosts, [&](std::string const& host) {
        return std::ranges::find(probe.nodes, host) != probe.nodes.end();
    });
}

std::optional<topology::ProbeResult> newest(std::filesystem::path const& state,
                                            std::vector<std::string> const& hosts,
                                            std::int64_t wall_us) {
    std::optional<topology::ProbeResult> best;
    auto files = cached_probes(state);
    if (files.size() > kEvidenceFilesMax) files.resize(kEvidenceFilesMax);
    for (auto const& file : files) {
        auto probe = protocol::read_json_file<topology::ProbeResult>(file.path);
        if (probe.has_error() || !holds_one(*probe, hosts)) continue;
        double const age_s = static_cast<double>(wall_us - probe->wall_us) / 1e6;
        if (age_s < 0 || age_s > kEvidenceAgeMax_s) continue;
        if (!best || probe->wall_us > best->wall_us) best = std::move(*probe);
    }
    return best;
}

}  // namespace

std::vector<std::string> links_beside(std::filesystem::path const& state,
                                      std::vector<std::string> const& hosts, std::int64_t wall_us) {
    auto const probe = newest(state, hosts, wall_us);
    if (!probe) return {"no probe of these nodes says how their links are: osora probe"};
    auto const source =
        fmt::format("probe of {} nodes, {} ago", probe->nodes.size(),
                    format_seconds(static_cast<double>(wall_us - probe->wall_us) / 1e6));
    if (probe->findings.empty()) return {source + ": no node or link is slower than the others"};
    std::vector<std::string> lines;
    for (auto const& each : probe->findings) {
        if (lines.size() == kFindingsMax) break;
        lines.push_back(fmt::format("{}: {}: {}", source, each.where, each.evidence));
    }
    if (probe->findings.size() > kFindingsMax) {
        lines.push_back(
            fmt::format("{} more findings: osora history sql \"SELECT * FROM v_finding\"",
                        probe->findings.size() - kFindingsMax));
    }
    return lines;
}

}  // namespace osora::cli
