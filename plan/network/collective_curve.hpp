// The time of a collective over the ranks of a run on a measured network: from the sweep of such
// groups if a probe has timed collectives, else a ring over the links that it measured. Pure.
#pragma once

#include "topology/collectives/collective.hpp"
#include "topology/probe_result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

class CollectiveCurve {
public:
    /// For the ranks of a run on several nodes. For NCCL only measured collectives count: it may
    /// use other links than TCP. nullopt: the probe says nothing about such a group, or it has not
    /// timed this collective, which is not all_reduce.
    [[nodiscard]] static std::optional<CollectiveCurve> from_probe(
        topology::ProbeResult const& probe, topology::GroupShape const& shape, bool gpu,
        topology::Collective collective = topology::Collective::all_reduce);

    /// For links without a measurement. `seconds_of`: above 0 for any number of bytes per rank.
    [[nodiscard]] static CollectiveCurve nominal(std::function<double(double)> const& seconds_of,
                                                 std::string method);

    /// Seconds for `bytes` per rank (of an all_gather: of the result), above 0.
    [[nodiscard]] double seconds(double bytes) const;
    /// The source, for people: "fit", "between fits", ..., "ring over measured links".
    [[nodiscard]] std::string const& method() const { return method_; }
    /// Relative error of `seconds` for gradients.
    [[nodiscard]] double error() const { return error_; }

private:
    struct Point {
        double bytes = 0, seconds = 0;
    };
    std::vector<Point> points_;  // by bytes
    std::string method_;
    double error_ = 0;
};

}  // namespace osora::plan
