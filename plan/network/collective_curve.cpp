// Sampled once, because a search needs thousands of times.
#include "plan/network/collective_curve.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"
#include "topology/nccl/collective_predict.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

using topology::Collective;
using topology::CollectiveSample;
using topology::GroupShape;
using topology::ProbeResult;

constexpr double kFirstBytes = 256, kLastBytes = 16.0 * (1 << 30), kStep = 2;
constexpr double kGradientBytes = 25 << 20;
/// Streams of a probe fill a link better than the single connection of a ring, and a ring's steps
/// wait for the slowest of them: error of such estimates on shaped links (docs/rfc/006).
constexpr double kRingError = 0.3;
/// Assumed error of data sheet rates (step_time_error()).
constexpr double kNominalError = 0.6;

/// The links of a ring as the probe measured them: its slowest node counts.
struct Links {
    double bytes_per_s = 0, latency_s = 0;  // 0: not known
};
Links links_of(ProbeResult const& probe) {
    double slowest_gbit = 0;
    for (auto const& each : probe.scores) {
        if (each.samples == 0 || !(each.gbit_s > 0)) continue;
        slowest_gbit = slowest_gbit == 0 ? each.gbit_s : std::min(slowest_gbit, each.gbit_s);
    }
    std::vector<double> round_trips;
    for (auto const& each : probe.pairs) {
        if (each.network.empty() && each.latency_us > 0) round_trips.push_back(each.latency_us);
    }
    if (slowest_gbit == 0 || round_trips.empty()) return {};
    return {.bytes_per_s = slowest_gbit * 1e9 / 8,
            .latency_s = median(std::move(round_trips)) / 2 * 1e-6};
}

/// Samples of groups with that shape; 0: there are none.
double largest_bytes(std::vector<CollectiveSample> const& samples, GroupShape const& shape) {
    std::int64_t largest = 0;
    for (auto const& each : samples) {
        if (GroupShape{each.ranks, each.nodes} == shape)
            largest = std::max(largest, each.size_bytes);
    }
    return static_cast<double>(largest);
}

}  // namespace

std::optional<CollectiveCurve> CollectiveCurve::from_probe(ProbeResult const& probe,
                                                           GroupShape const& shape, bool gpu,
                                                           Collective collective) {
    if (shape.nodes < 2 || shape.ranks < shape.nodes) return {};
    std::vector<CollectiveSample> samples;
    for (auto const& each : probe.collectives) {
        bool const ours = each.backend == (gpu ? "nccl" : "gloo") && each.nodes > 1;
        if (ours && each.collective == collective_name(collective)) {
            samples.push_back(each);
        }
    }
    if (samples.empty() && collective != Collective::all_reduce) return {};
    CollectiveCurve curve;
    auto const groups = topology::group_samples(samples);
    Links const links = gpu ? Links() : links_of(probe);
    bool const wire = links.bytes_per_s > 0;
    double const largest = largest_bytes(samples, shape);
    for (double bytes = kFirstBytes; bytes <= kLastBytes; bytes *= kStep) {
        auto const answer =
            groups.has_error()
                ? Result<topology::CollectiveAnswer>(groups.error())
                : topology::predict_collective({.collective = collective,
                                                .shape = shape,
                                                .size_bytes = static_cast<std::int64_t>(bytes)},
                                               {.samples = *groups});
        // Time of a ring: 2 (n - 1) steps, in each of which a rank sends and receives S / n bytes.
        double const steps = topology::ring_steps(collective, shape.ranks);
        double time_s = 0;
        if (answer.has_value()) {
            time_s = answer->time_us * 1e-6;
            // Beyond the measured sizes, never faster than the wire.
            if (wire && bytes > largest && !curve.points_.empty()) {
                auto const& last = curve.points_.back();
                time_s = std::max(time_s, last.seconds + steps * (bytes - last.bytes) /
                                                             shape.ranks / links.bytes_per_s);
            }
            curve.method_ = answer->method;
            if (bytes <= kGradientBytes) curve.error_ = answer->error;
        } else if (wire) {
            time_s = steps * (links.latency_s + bytes / shape.ranks / links.bytes_per_s);
            curve.method_ = "ring over measured links";
            curve.error_ = kRingError;
        } else {
            return {};
        }
        if (!(time_s > 0) || !std::isfinite(time_s)) return {};
        curve.points_.push_back({bytes, time_s});
    }
    return curve;
}

CollectiveCurve CollectiveCurve::nominal(std::function<double(double)> const& seconds_of,
                                         std::string method) {
    CollectiveCurve curve;
    curve.method_ = std::move(method);
    curve.error_ = kNominalError;
    for (double bytes = kFirstBytes; bytes <= kLastBytes; bytes *= kStep) {
        curve.points_.push_back({bytes, seconds_of(bytes)});
    }
    return curve;
}

double CollectiveCurve::seconds(double bytes) const {
    OSORA_CHECK_LE(2u, points_.size());
    if (bytes <= points_.front().bytes) return points_.front().seconds;
    auto above = std::ranges::lower_bound(points_, bytes, {}, &Point::bytes);
    if (above == points_.end()) --above;
    Point const& low = *std::prev(above);
    double const share = (bytes - low.bytes) / (above->bytes - low.bytes);
    return low.seconds + share * (above->seconds - low.seconds);
}

}  // namespace osora::plan
