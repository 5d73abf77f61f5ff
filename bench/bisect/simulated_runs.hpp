// Pairs of runs with known culprits and noise, for searches that are scored: who is slow and why is
// drawn from a seed.
#pragma once

#include "db/analysis/bisect/bisect.hpp"

#include <random>
#include <string_view>
#include <vector>

namespace osora::bench {

/// single, and, or; additive: 60/40. and3, or3, additive3 (40/35/25): of three. none: a healthy
/// pair. tiny: a gap of 2 sigma. scattered: every item has the same small part of the gap.
enum class Cause {
    single,
    both,
    either,
    additive,
    both3,
    either3,
    additive3,
    none,
    tiny,
    scattered
};
/// "single", "and", "or", ...; invalid_input names what there is.
[[nodiscard]] Result<Cause> cause_of(std::string_view name);

/// Items that a cause needs.
[[nodiscard]] int culprits_of(Cause cause);

struct SimulatedPair {
    Cause cause = Cause::single;
    int factors = 32;
    double d = 30;        // gap in sigma
    double outliers = 0;  // share of runs that are 4 to 12 sigma slower
    std::uint64_t seed = 1;
};

constexpr double kSimulatedGoodS = 7, kSimulatedSigmaS = 7.0 / 30;

class SimulatedRuns {
public:
    explicit SimulatedRuns(SimulatedPair const& pair);

    [[nodiscard]] std::vector<int> const& culprits() const { return culprits_; }  // ascending
    [[nodiscard]] double level_s(std::vector<bool> const& flipped) const;
    [[nodiscard]] double run_s(std::vector<bool> const& flipped);
    /// Robust sigma of `runs` runs of good, as history would know it.
    [[nodiscard]] double history_sigma_s(int runs);
    [[nodiscard]] std::vector<db::analysis::FactorGroup> atoms() const;

private:
    SimulatedPair pair_;
    std::mt19937_64 random_;
    std::vector<int> culprits_;
    std::vector<double> shares_;
};

}  // namespace osora::bench
