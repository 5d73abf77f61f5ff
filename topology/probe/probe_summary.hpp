// What a probe measured, in one line for people, what may be kept of it, and what is put together.
// Pure.
#pragma once

#include "topology/probe_result.hpp"

#include <optional>
#include <string>

namespace osora::topology {

/// "16 nodes in 9.01 s: all within 4 % of 46.1 Gbit/s a pair". `age_s` above 0: "16 nodes, measured
/// 2 h 00 min ago: ..."; both 0: without a time.
[[nodiscard]] std::string probe_summary(ProbeResult const& result, double took_s, double age_s);

/// Whether every node was measured: what is kept says nothing of a node that was lost.
[[nodiscard]] bool is_complete(ProbeResult const& result);

/// What the workers of a probe measured, beside what is known of their links; without the latter
/// the answer has no nodes. What was left out is a warning.
[[nodiscard]] ProbeResult with_collectives(std::optional<ProbeResult> links, CollectiveTimes times,
                                           std::int64_t wall_us);

}  // namespace osora::topology
