// A probe's result in one line for people, whether it may be saved, and its combination with
// collectives. Pure.
#pragma once

#include "topology/probe_result.hpp"

#include <optional>
#include <string>

namespace osora::topology {

/// "16 nodes in 9.01 s: all within 4 % of 46.1 Gbit/s a pair". `age_s` above 0: "16 nodes, measured
/// 2 h 00 min ago: ..."; both 0: without a time.
[[nodiscard]] std::string probe_summary(ProbeResult const& result, double took_s, double age_s);

/// Whether every node was measured: a saved result must not lack a lost node.
[[nodiscard]] bool is_complete(ProbeResult const& result);

/// The collectives measured by the workers of a probe, added to what is known of their links;
/// without links the result has no nodes. Skipped measurements become a warning.
[[nodiscard]] ProbeResult with_collectives(std::optional<ProbeResult> links, CollectiveTimes times,
                                           std::int64_t wall_us);

}  // namespace osora::topology
