#include "bench/bisect/simulated_runs.hpp"

#include "base/robust.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace osora::bench {
namespace {

constexpr std::array<std::string_view, 10> kNames{
    "single", "and", "or", "additive", "and3", "or3", "additive3", "none", "tiny", "scattered"};
constexpr double kTinySigmas = 2;
constexpr double kMadToSigma = 1.4826;

std::vector<double> shares_of(Cause cause, int factors) {
    switch (cause) {
        case Cause::single:
        case Cause::tiny:
            return {1};
        case Cause::both:
        case Cause::either:
            return {1, 1};
        case Cause::both3:
        case Cause::either3:
            return {1, 1, 1};
        case Cause::additive:
            return {0.6, 0.4};
        case Cause::additive3:
            return {0.4, 0.35, 0.25};
        case Cause::none:
            return {};
        case Cause::scattered:
            return std::vector<double>(static_cast<std::size_t>(factors), 1.0 / factors);
    }
    return {};
}

}  // namespace

Result<Cause> cause_of(std::string_view name) {
    auto const found = std::ranges::find(kNames, name);
    if (found == kNames.end()) {
        std::string all;
        for (auto const each : kNames) all += (all.empty() ? "" : ", ") + std::string(each);
        return Error{Errc::invalid_input, fmt::format("cause {}: none of {}", name, all)};
    }
    return static_cast<Cause>(found - kNames.begin());
}

int culprits_of(Cause cause) {
    return static_cast<int>(shares_of(cause, 1).size());
}

SimulatedRuns::SimulatedRuns(SimulatedPair const& pair)
    : pair_(pair), random_(pair.seed), shares_(shares_of(pair.cause, pair.factors)) {
    std::vector<int> places(static_cast<std::size_t>(pair.factors));
    std::iota(places.begin(), places.end(), 0);
    std::ranges::shuffle(places, random_);
    culprits_.assign(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(
                                                          std::min(places.size(), shares_.size())));
    std::ranges::sort(culprits_);
    std::ranges::shuffle(shares_, random_);
    if (pair.cause == Cause::tiny) pair_.d = kTinySigmas;
}

double SimulatedRuns::level_s(std::vector<bool> const& flipped) const {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < culprits_.size(); ++i) {
        if (!flipped[static_cast<std::size_t>(culprits_[i])]) continue;
        sum += shares_[i];
        count += 1;
    }
    bool const needs_all = pair_.cause == Cause::both || pair_.cause == Cause::both3;
    bool const needs_any = pair_.cause == Cause::either || pair_.cause == Cause::either3;
    if (needs_all) sum = count == culprits_.size() ? 1 : 0;
    if (needs_any) sum = count > 0 ? 1 : 0;
    return kSimulatedGoodS + sum * pair_.d * kSimulatedSigmaS;
}

double SimulatedRuns::run_s(std::vector<bool> const& flipped) {
    double sigmas = std::normal_distribution<double>()(random_);
    if (std::uniform_real_distribution<double>()(random_) < pair_.outliers) {
        sigmas += std::uniform_real_distribution<double>(4, 12)(random_);
    }
    return std::max(0.1, level_s(flipped) + sigmas * kSimulatedSigmaS);
}

double SimulatedRuns::history_sigma_s(int runs) {
    std::vector<double> values;
    std::vector<bool> const good(static_cast<std::size_t>(pair_.factors), false);
    for (int i = 0; i < runs; ++i) values.push_back(run_s(good));
    return kMadToSigma * median_and_mad(std::move(values)).mad;
}

std::vector<db::analysis::FactorGroup> SimulatedRuns::atoms() const {
    std::vector<db::analysis::FactorGroup> atoms;
    for (int i = 0; i < pair_.factors; ++i) atoms.push_back({fmt::format("item {}", i), {i}, 1});
    return atoms;
}

}  // namespace osora::bench
