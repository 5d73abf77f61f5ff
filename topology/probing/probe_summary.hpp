// What a probe measured, in one line for people, and what may be kept of it. Pure.
#pragma once

#include "topology/probe_result.hpp"

#include <string>

namespace osora::topology {

/// "16 nodes in 9.01 s: all within 4 % of 46.1 Gbit/s a pair". `age_s` above 0: "16 nodes, measured
/// 2 h 00 min ago: ..."; both 0: without a time.
[[nodiscard]] std::string probe_summary(ProbeResult const& result, double took_s, double age_s);

/// Whether every node was measured: what is kept says nothing of a node that was lost.
[[nodiscard]] bool is_complete(ProbeResult const& result);

}  // namespace osora::topology
