// Series of runs whose change points are known, and how often a detector is right about them; for
// the tests and for bench/changepoint.
#pragma once

#include "db/analysis/changepoint/change_point.hpp"

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace osora::tests {

using db::analysis::changepoint::ChangePoint;

enum class Noise {
    gauss,
    ar1,     // Gaussian, each value correlated with the one before
    t3,      // Student's t with 3 degrees of freedom, scaled to the same standard deviation
    spikes,  // Gaussian, and 5 % of the values 1.3 to 1.7 times as large
    modes    // Gaussian, and half of the values 1.4 times as large: a machine with two speeds
};
BOOST_DESCRIBE_ENUM(Noise, gauss, ar1, t3, spikes, modes)

struct SeriesSpec {
    Noise noise = Noise::gauss;
    int count = 100;
    double variation = 0.02;   // standard deviation over level
    double correlation = 0.5;  // ar1 only
    double effect = 0;         // values from `at` on are 1 + effect times as large
    int at = 50;
};
[[nodiscard]] std::vector<double> synthetic_series(SeriesSpec const& spec, std::mt19937_64& random);

using Detector = std::function<std::vector<ChangePoint>(std::span<double const>)>;
/// "robust", "otava", "mozilla", with their defaults.
[[nodiscard]] Detector detector_of(std::string const& method);

/// Shares of series. Without an effect every change point is false; with one, those further than 2
/// values from it.
struct Rates {
    double with_false = 0;
    double found = 0;     // a change point within 2 values
    double in_range = 0;  // of those found: [lo, hi] holds the place
};
[[nodiscard]] Rates rates(SeriesSpec const& spec, Detector const& detector, int repeats,
                          std::uint64_t seed);

}  // namespace osora::tests
