// Whether collectives became slower between two sweeps, say of two versions of NCCL. Pure.
#pragma once

#include "topology/collectives/sweep.hpp"

namespace osora::topology {

enum class Change { none, slower, faster };

/// One size that both sweeps have.
struct SizeChange {
    std::int64_t size_bytes = 0;
    double before_us = 0, after_us = 0;  // medians of the repeats
    double spread = 0;                   // relative standard error of after / before
    double disagreement = 0;             // of it, what its own repeats show
    Change change = Change::none;
    [[nodiscard]] double ratio() const { return after_us / before_us; }
};

/// Neighbouring sizes of a curve that changed alike.
struct RangeChange {
    SweepKey key;
    std::int64_t first_bytes = 0, last_bytes = 0;
    std::size_t sizes = 0;
    double ratio = 1;  // median over the sizes, after / before
    double most = 1;   // that is farthest from 1
    std::int64_t most_bytes = 0;
    Change change = Change::slower;
};

struct CurveChange {
    SweepKey key;
    std::vector<SizeChange> sizes;  // ascending
};

struct SweepComparison {
    std::vector<CurveChange> curves;   // of the keys that both have
    std::vector<RangeChange> changes;  // slower ones first, each kind by how much
    std::size_t paired = 0, only_before = 0, only_after = 0;  // sizes
    double spread = 0;  // median relative spread of one measurement
};

/// A size counts as slower where after / before is 1 + `over` or more (faster: 1 / (1 + over) or
/// less) and a range of two to eight neighbouring sizes that contains it, each moved by half of
/// that or more, moved by more than chance, or it alone by seven standard errors. Chance: over all
/// sizes of the sweeps (Benjamini and Hochberg, 5 %), with the correlation of neighbouring sizes
/// that the ratios show. The scatter of a measurement: see SweepScatter.
[[nodiscard]] SweepComparison compare_sweeps(Sweep const& before, Sweep const& after, double over);

}  // namespace osora::topology
