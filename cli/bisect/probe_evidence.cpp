#include "cli/bisect/probe_evidence.hpp"

#include "base/text/units.hpp"
#include "cli/plan/measured_network.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

constexpr double kEvidenceAgeMax_s = 7 * 86400.0;
constexpr std::size_t kFindingsMax = 5;

}  // namespace

std::vector<std::string> links_beside(std::filesystem::path const& state,
                                      std::vector<std::string> const& hosts, std::int64_t wall_us) {
    auto const cache = probe_cache(state, wall_us);
    auto const probe = cache.newest({.names = hosts, .at_least = 1}, kEvidenceAgeMax_s);
    if (!probe) return {"no probe of these nodes says how their links are: osora probe"};
    auto const source = fmt::format("probe of {} nodes, {} ago", probe->nodes.size(),
                                    format_seconds(cache.age_s(probe->wall_us)));
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
