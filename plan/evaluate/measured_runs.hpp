// How far the equations were off for runs measured on the same cluster, and the correction of an
// answer that follows. Pure. docs/rfc/027 has the errors with and without.
#pragma once

#include "plan/evaluate/rows.hpp"

namespace osora::plan {

struct MeasuredCorrection {
    double compute = 1;  // factor for the non-communication part
    double comm = 1;     // factor for communication
    double memory = 1;
};

/// The correction from the measured runs of a row. A run that is similar to the row counts more
/// than one with another model or layout; a small difference may be chance and is trusted less than
/// a large one. Communication is corrected by runs in which it takes a large share of the step,
/// over the same kind of links: within a node (or NVLink domain), or between several.
[[nodiscard]] MeasuredCorrection correction_of(EvaluateRow const& row);

}  // namespace osora::plan
