#include "tests/unit/db/analysis/changepoint/synthetic_series.hpp"

#include "base/check.hpp"
#include "db/analysis/changepoint/mozilla.hpp"
#include "db/analysis/changepoint/otava.hpp"
#include "db/analysis/changepoint/segmentation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace osora::tests {
namespace {

constexpr double kLevel = 7.3;  // seconds a step
constexpr double kSpikeShare = 0.05;
constexpr int kNear = 2;

}  // namespace

std::vector<double> synthetic_series(SeriesSpec const& spec, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::student_t_distribution<double> student(3);
    std::uniform_real_distribution<double> uniform;
    double const fresh = std::sqrt(1 - spec.correlation * spec.correlation);
    double state = normal(random);
    std::vector<double> values;
    for (int i = 0; i < spec.count; ++i) {
        double noise = normal(random);
        if (spec.noise == Noise::t3) noise = student(random) / std::sqrt(3.0);
        if (spec.noise == Noise::ar1) noise = state = spec.correlation * state + fresh * noise;
        double value = kLevel * std::max(0.05, 1 + spec.variation * noise);
        if (i >= spec.at) value *= 1 + spec.effect;
        if (spec.noise == Noise::spikes && uniform(random) < kSpikeShare) {
            value *= 1.3 + 0.4 * uniform(random);
        }
        if (spec.noise == Noise::modes && uniform(random) < 0.5) value *= 1.4;
        values.push_back(value);
    }
    return values;
}

Detector detector_of(std::string const& method) {
    namespace changepoint = db::analysis::changepoint;
    using Values = std::span<double const>;
    if (method == "otava") {
        return [](Values values) { return changepoint::otava_change_points(values); };
    }
    if (method == "mozilla") {
        return [](Values values) { return changepoint::mozilla_change_points(values); };
    }
    OSORA_CHECK_EQ(method, "robust");
    return [](Values values) { return changepoint::robust_change_points(values).points; };
}

Rates rates(SeriesSpec const& spec, Detector const& detector, int repeats, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    int with_false = 0, found = 0, in_range = 0;
    for (int i = 0; i < repeats; ++i) {
        auto const points = detector(synthetic_series(spec, random));
        auto const is_near = [&](ChangePoint const& point) {
            return spec.effect != 0 && std::abs(point.index - spec.at) <= kNear;
        };
        auto const near = std::ranges::find_if(points, is_near);
        with_false += !std::ranges::all_of(points, is_near);
        if (near == points.end()) continue;
        ++found;
        in_range += near->lo <= spec.at && spec.at <= near->hi;
    }
    auto const share = [](int part, int of) {
        return of == 0 ? 0.0 : static_cast<double>(part) / of;
    };
    return {share(with_false, repeats), share(found, repeats), share(in_range, found)};
}

}  // namespace osora::tests
