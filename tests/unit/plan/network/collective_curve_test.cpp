#include "plan/network/collective_curve.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using topology::GroupShape;
using topology::ProbeResult;

constexpr double kMiB = 1 << 20;

/// 4 nodes; the slowest reaches 1 Gbit/s; half a round trip is 50 us.
ProbeResult links() {
    ProbeResult probe;
    for (double const gbit : {2.0, 2.0, 1.0, 2.0}) {
        probe.nodes.push_back("n" + std::to_string(probe.nodes.size()));
        probe.scores.push_back({.gbit_s = gbit, .of_median = 1, .samples = 5, .interface = {}});
    }
    probe.pairs.resize(3);
    for (auto& each : probe.pairs) each.latency_us = 100;
    return probe;
}

void add(ProbeResult& probe, GroupShape const& shape, std::int64_t size_bytes, double time_us) {
    probe.collectives.push_back({.backend = "gloo",
                                 .collective = "all_reduce",
                                 .ranks = shape.ranks,
                                 .nodes = shape.nodes,
                                 .size_bytes = size_bytes,
                                 .time_us = time_us});
}

CollectiveCurve curve(ProbeResult const& probe, GroupShape const& shape) {
    auto found = CollectiveCurve::from_probe(probe, shape, false);
    EXPECT_TRUE(found.has_value());
    return found.value_or(CollectiveCurve());
}

TEST(CollectiveCurve, OfLinksIsARingOverTheSlowestNode) {
    // 2 (n - 1) steps of 50 us; each node sends 2 (n - 1) / n S bytes at 125 MB/s.
    auto const ring = curve(links(), {.ranks = 4, .nodes = 4});
    EXPECT_NEAR(ring.seconds(8 * kMiB), 6 * 50e-6 + 1.5 * 8 * kMiB / 125e6, 1e-6);
    EXPECT_NEAR(ring.seconds(1), 6 * 50e-6, 1e-5);
    EXPECT_EQ(ring.method(), "ring over measured links");
    EXPECT_GT(ring.error(), 0.2);
}

TEST(CollectiveCurve, OfMeasuredGroupsIsTheirSweep) {
    auto probe = links();
    GroupShape const all{.ranks = 4, .nodes = 4}, two{.ranks = 2, .nodes = 2};
    for (std::int64_t const mib : {1, 4, 32}) {
        add(probe, all, mib << 20, 500 + 15'000.0 * static_cast<double>(mib));
        add(probe, two, mib << 20, 200 + 10'000.0 * static_cast<double>(mib));
    }
    EXPECT_NEAR(curve(probe, all).seconds(8 * kMiB), 0.1205, 0.1205 * 0.06);
    EXPECT_NEAR(curve(probe, two).seconds(8 * kMiB), 0.0802, 0.0802 * 0.06);
    EXPECT_EQ(curve(probe, all).method(), "fit");
    auto const between = curve(probe, {.ranks = 3, .nodes = 3});
    EXPECT_GT(between.seconds(8 * kMiB), 0.0802);
    EXPECT_LT(between.seconds(8 * kMiB), 0.1205);
}

TEST(CollectiveCurve, BeyondTheLargestSizeNothingIsFasterThanTheWire) {
    auto probe = links();
    GroupShape const all{.ranks = 4, .nodes = 4};
    add(probe, all, 64 << 10, 50'000);  // all latency, so that the fit is flat
    add(probe, all, 1 << 20, 50'100);
    double const wire = 1.5 * 63 * kMiB / 125e6;
    EXPECT_GE(curve(probe, all).seconds(64 * kMiB), 0.98 * wire);
}

TEST(CollectiveCurve, GrowsWithSize) {
    auto const ring = curve(links(), {.ranks = 16, .nodes = 4});
    double last = 0;
    for (double bytes = 1; bytes < 1e12; bytes *= 1.7) {
        double const now = ring.seconds(bytes);
        EXPECT_GE(now, last);
        last = now;
    }
    EXPECT_GT(ring.seconds(1e12), 1.9 * ring.seconds(5e11));  // straight on beyond the table
}

TEST(CollectiveCurve, SaysNothingOfWhatWasNotMeasured) {
    GroupShape const all{.ranks = 4, .nodes = 4};
    EXPECT_FALSE(CollectiveCurve::from_probe(ProbeResult(), all, false));
    EXPECT_FALSE(CollectiveCurve::from_probe(links(), all, true)) << "NCCL does not go over TCP";
    EXPECT_FALSE(CollectiveCurve::from_probe(links(), {.ranks = 4, .nodes = 1}, false));
    auto broken = links();
    broken.collectives.push_back({.backend = "gloo",
                                  .collective = "no_such",
                                  .ranks = 4,
                                  .nodes = 4,
                                  .size_bytes = 1,
                                  .time_us = -1});
    add(broken, all, 1 << 20, -5);  // the links still say something
    add(broken, all, 1 << 21, 0);
    EXPECT_EQ(curve(broken, all).method(), "ring over measured links");
}

}  // namespace
}  // namespace osora::plan
