// The doctor's findings as text. Pure.
#pragma once

#include "topology/doctor/finding.hpp"

#include <string>

namespace osora::cli {

/// Findings, worst first, at most 80 columns wide, and a last line with the counts.
[[nodiscard]] std::string doctor_text(topology::doctor::Diagnosis const& diagnosis);

/// "2 findings, 1 fault · 28 rules checked on 16 nodes · 5 skipped (no RDMA NIC)"
[[nodiscard]] std::string doctor_summary(topology::doctor::Diagnosis const& diagnosis);

}  // namespace osora::cli
