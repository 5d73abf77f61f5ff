// What an all_reduce over the ranks of a run costs on a network that was measured: the sweep of
// such groups where a probe has timed collectives, else a ring over the links that it measured.
// Pure.
#pragma once

#include "topology/collectives/collective.hpp"
#include "topology/probe_result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

class AllReduceCurve {
public:
    /// For the ranks of a run on several nodes. Of NCCL only collectives say something: it need not
    /// go over the links that TCP takes. nullopt: the probe says nothing of such a group.
    [[nodiscard]] static std::optional<AllReduceCurve> from_probe(
        topology::ProbeResult const& probe, topology::GroupShape const& shape, bool gpu);

    /// Of links that nobody has measured. `seconds_of`: above 0 for any number of bytes a rank.
    [[nodiscard]] static AllReduceCurve nominal(std::function<double(double)> const& seconds_of,
                                                std::string method);

    /// Seconds for `bytes` a rank, above 0.
    [[nodiscard]] double seconds(double bytes) const;
    /// What it was made from, for people: "fit", "between fits", ..., "ring over measured links".
    [[nodiscard]] std::string const& method() const { return method_; }
    /// How far off `seconds` may be for gradients, as a share of it.
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
