#include "tests/unit/db/analysis/synthetic_probes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::tests {
namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;
constexpr double kRate = 5e9;  // bytes a second

}  // namespace

std::vector<db::analysis::NodeScore> synthetic_probes(ProbesSpec const& spec,
                                                      std::mt19937_64& random) {
    std::vector<db::analysis::NodeScore> scores;
    for (int node = 0; node < spec.nodes; ++node) {
        for (char const* path : {"", "/data"}) {
            if (*path != '\0' && !spec.storage) continue;
            // Times, so that what is odd is slow: a rate is one over it.
            auto const seconds = synthetic_series({.noise = spec.noise,
                                                   .count = spec.probes,
                                                   .variation = spec.variation,
                                                   .at = spec.probes},
                                                  random);
            for (int probe = 0; probe < spec.probes; ++probe) {
                bool const slow = node == 0 && *path == '\0' && probe >= spec.at;
                double const score =
                    7.3 / seconds[static_cast<std::size_t>(probe)] * (slow ? 1 - spec.drop : 1);
                scores.push_back({.run_id = probe + 1,
                                  .run = probe + 1,
                                  .submitted_us = 1'760'000'000'000'000 + probe * kDayUs,
                                  .host = fmt::format("n{}", node),
                                  .leaf = fmt::format("leaf{}", node / 32),
                                  .path = path,
                                  .rate = kRate * score,
                                  .of_median = *path == '\0' ? score : 0});
            }
        }
    }
    return scores;
}

DriftRates drift_rates(ProbesSpec const& spec, int repeats, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    int with_false = 0, found = 0;
    for (int i = 0; i < repeats; ++i) {
        auto const report = db::analysis::node_drift(synthetic_probes(spec, random));
        auto const is_slow = [&](db::analysis::NodeDrift const& drift) {
            return spec.drop > 0 && drift.host == "n0" && drift.path.empty();
        };
        found += std::ranges::any_of(report.drifted, is_slow);
        with_false += !std::ranges::all_of(report.drifted, is_slow);
    }
    return {static_cast<double>(with_false) / repeats, static_cast<double>(found) / repeats};
}

}  // namespace osora::tests
