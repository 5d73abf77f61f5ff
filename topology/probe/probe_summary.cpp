#include "topology/probe/probe_summary.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::topology {

std::string probe_summary(ProbeResult const& result, double took_s, double age_s) {
    std::string text =
        fmt::format("{} node{}", result.nodes.size(), result.nodes.size() == 1 ? "" : "s");
    if (age_s > 0) {
        text += fmt::format(", measured {} ago", format_seconds(age_s));
    } else if (took_s > 0) {
        text += " in " + format_seconds(took_s);
    }
    if (result.pairs.empty()) {
        return text + (result.collectives.empty() ? ": no pair to measure" : ": collectives alone");
    }
    double spread = 0;
    std::size_t good = 0;
    for (NodeScore const& each : result.scores) {
        if (each.samples == 0 || each.bad) continue;
        spread = std::max(spread, std::abs(1 - each.of_median));
        ++good;
    }
    return text + fmt::format(": {} within {:.0f} % of {} a pair",
                              good == result.nodes.size() ? "all" : std::to_string(good),
                              std::max(0.0, std::ceil(spread * 100 - 1e-9)),
                              format_gbit_per_s(result.median_gbit_s));
}

bool is_complete(ProbeResult const& result) {
    return !result.pairs.empty() && std::ranges::none_of(result.findings, [](auto const& each) {
        return each.kind == "node_lost";
    });
}

ProbeResult with_collectives(std::optional<ProbeResult> links, CollectiveTimes times,
                             std::int64_t wall_us) {
    ProbeResult result = links ? std::move(*links) : ProbeResult{};
    result.wall_us = std::max(result.wall_us, wall_us);
    result.collectives = std::move(times.samples);
    result.collectives_wall_us = wall_us;
    if (!times.left_out.empty()) {
        result.warnings.push_back(fmt::format(
            "{} of {} measurements of collectives left out, for want of time or memory: the first "
            "is {}",
            times.left_out.size(), times.left_out.size() + result.collectives.size(),
            times.left_out.front()));
    }
    return result;
}

}  // namespace osora::topology
