// How far the equations were from runs that were measured on the same cluster, and so by how much
// an answer is to be corrected. Pure. docs/rfc/027 has the errors with and without.
#pragma once

#include "plan/evaluate/rows.hpp"

namespace osora::plan {

struct MeasuredCorrection {
    double compute = 1;  // times what is no communication
    double memory = 1;
};

/// What the measured runs of a row say of it. A run that is much like the row counts for more than
/// one of another model or layout; a small difference may be chance and is trusted less than a
/// large one.
[[nodiscard]] MeasuredCorrection correction_of(EvaluateRow const& row);

}  // namespace osora::plan
