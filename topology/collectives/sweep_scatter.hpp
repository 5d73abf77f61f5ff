// How much the measurements of two sweeps scatter, and how alike the disturbances of neighbouring
// sizes are. Driven by compare_sweeps. Pure.
#pragma once

#include "topology/collectives/sweep_compare.hpp"

#include <compare>
#include <map>
#include <vector>

namespace osora::topology {

/// Absolute relative deviations of single measurements, by what was measured.
class Deviations {
public:
    void add(SweepKey const& key, std::int64_t bytes, double deviation);
    /// Relative standard deviation of one measurement: the largest that follows from the median
    /// of its kind, of its collective on any ranks, of its class of sizes, and from the tail of its
    /// collective; 0 where there is none.
    [[nodiscard]] double of(SweepKey const& key, std::int64_t bytes) const;
    /// How many there are of its kind: one collective on as many ranks, sizes of one class.
    [[nodiscard]] std::size_t count(SweepKey const& key, std::int64_t bytes) const;

private:
    struct Kind {
        std::size_t size_class;
        int collective, ranks;  // kAny: over all of them
        friend auto operator<=>(Kind const&, Kind const&) = default;
    };
    static constexpr int kAny = -1;
    static Kind kind_of(SweepKey const& key, std::int64_t bytes);

    std::map<Kind, std::vector<double>> values_;
};

class SweepScatter {
public:
    /// `spread` of each size of `curves`: that of its ratio, in standard deviations of one
    /// measurement.
    SweepScatter(Sweep const& before, Sweep const& after, std::vector<CurveChange> const& curves);

    /// Relative standard deviation of one measurement, at least 0.2 %: from 8 repeats or more of
    /// its kind; else the larger of what the repeats and the bends of the curves show.
    [[nodiscard]] double of(SweepKey const& key, std::int64_t bytes) const;
    /// Of the log ratios of neighbouring sizes, 0 to 0.9.
    [[nodiscard]] double correlation() const { return correlation_; }

private:
    void add_repeats(Sweep const& sweep);
    /// A bend: by how much a log ratio differs from the line between its neighbours.
    void add_bends(CurveChange const& curve);

    Deviations repeats_, bends_;
    double correlation_ = 0;
};

}  // namespace osora::topology
