// A probe's result as text: the answer, the problems, a picture of all pairs. Pure.
#pragma once

#include "topology/probe_result.hpp"

#include <string>

namespace osora::cli {

struct ProbeText {
    double seconds = 0;  // time that the probe took
    int columns = 80;
};

/// Lines of at most `columns`.
[[nodiscard]] std::string render_probe(topology::ProbeResult const& result, ProbeText const& how);

/// A row per node, a digit per pair: tenths of the median ("9" = 0.9 and more, "." = not measured);
/// above 64 nodes a row per leaf. Empty: there is nothing to show.
[[nodiscard]] std::string probe_matrix(topology::ProbeResult const& result);

/// Whether something is wrong: osora probe then exits with 1.
[[nodiscard]] bool has_fault(topology::ProbeResult const& result);

}  // namespace osora::cli
