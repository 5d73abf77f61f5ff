#include "db/analysis/bisect/block_proof.hpp"

#include "base/robust.hpp"
#include "db/analysis/bisect/sign_flips.hpp"

#include <fmt/format.h>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <random>

namespace osora::db::analysis {
namespace {

constexpr int kProofBlocksMin = 3;
constexpr int kDirectBlocksMin = 5;  // 2^-5 < 0.05, with one pair a block
constexpr int kManyPairs = 8;
constexpr double kToleranceSigmas = 3;
constexpr double kMovedSigmas = 5;

/// The same order on every machine, so that a log can be replayed.
std::array<std::size_t, 4> shuffled(std::uint64_t seed) {
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    std::mt19937_64 random(seed);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    return order;
}

}  // namespace

int blocks_needed(double d) {
    // Separates levels of n trials at 70 % of the gap: 2.5 sqrt(2 / n) < 0.3 d.
    return std::clamp(static_cast<int>(std::ceil(139 / (d * d))), kProofBlocksMin, kBlocksMax);
}

double proved_p(Proof const& proof) {
    return proof.pairs < kManyPairs ? 0.05 : 0.01;
}

BlockProof::BlockProof(TrialRunner& trials, Comparison comparison, double gap_s)
    : trials_(trials),
      hybrids_{std::move(comparison.good), std::move(comparison.more), std::move(comparison.less),
               std::move(comparison.bad)},
      is_direct_(comparison.is_direct || hybrids_[kMore] == hybrids_[kBad]),
      gap_s_(gap_s) {
    double const d = gap_s / trials.noise().sigma_s;
    blocks_ = blocks_needed(d);
    bool const has_one_pair = is_direct_ || trials.does_not_start(hybrids_[kMore]) ||
                              trials.does_not_start(hybrids_[kLess]);
    if (has_one_pair) blocks_ = std::max(blocks_, kDirectBlocksMin);
    for (std::size_t side = 0; side < kSides; ++side) {
        bool const is_baseline =
            hybrids_[side] == hybrids_[kBad] || hybrids_[side] == hybrids_[kGood];
        int const most = d >= kReuseFrom ? blocks_ : is_baseline ? blocks_ / 2 : 0;
        skipped_[side] = std::max(0, trials_.count(hybrids_[side]) - most);
    }
}

bool BlockProof::is_used(std::size_t side) const {
    if (is_direct_ && (side == kGood || side == kBad)) return false;
    // If one of a pair is missing, the other is useless.
    bool const lacks_more = trials_.does_not_start(hybrids_[kMore]);
    bool const lacks_less = trials_.does_not_start(hybrids_[kLess]);
    if (is_direct_) return !lacks_more && !lacks_less;
    return side == kGood || side == kMore ? !lacks_more : !lacks_less;
}

std::vector<double> BlockProof::used(std::size_t side) const {
    auto const& samples = trials_.samples(hybrids_[side]);
    auto const first =
        std::min<std::size_t>(samples.size(), static_cast<std::size_t>(skipped_[side]));
    auto const count = std::min(samples.size() - first, static_cast<std::size_t>(blocks_));
    auto const start = samples.begin() + static_cast<std::ptrdiff_t>(first);
    return {start, start + static_cast<std::ptrdiff_t>(count)};
}

Result<void> BlockProof::run_blocks() {
    for (int block = 0; block < blocks_; ++block) {
        for (std::size_t const side :
             shuffled(trials_.options().seed + static_cast<std::uint64_t>(block))) {
            if (!is_used(side) || static_cast<int>(used(side).size()) > block) continue;
            OSORA_TRY(bool const starts, trials_.run(hybrids_[side], TrialPhase::proof, block));
            if (starts) trials_.decide(fmt::format("block {} of {}", block + 1, blocks_));
        }
    }
    return boost::system::in_place_value;
}

Result<bool> BlockProof::have_baselines_moved() {
    for (std::size_t const side : {kGood, kBad}) {
        auto const values = used(side);
        bool const is_fresh = trials_.records().back().trial.phase == TrialPhase::proof;
        if (!is_used(side) || !is_fresh || values.size() < 3) continue;
        auto const before = median({values.begin(), values.end() - 1});
        double const limit = kMovedSigmas * trials_.noise().sigma_s;
        if (std::abs(values.back() - before) < limit) continue;
        OSORA_TRY(bool const starts, trials_.run(hybrids_[side], TrialPhase::proof));
        if (!starts) continue;
        trials_.decide("repeat");
        if (std::abs(trials_.samples(hybrids_[side]).back() - before) >= limit) return true;
    }
    return false;
}

Result<void> BlockProof::run() {
    OSORA_TRY_VOID(run_blocks());
    OSORA_TRY(bool const has_moved, have_baselines_moved());
    if (!has_moved) return boost::system::in_place_value;
    for (std::size_t side = 0; side < kSides; ++side) {
        skipped_[side] = trials_.count(hybrids_[side]);
    }
    return run_blocks();
}

std::vector<double> BlockProof::differences(int blocks) const {
    std::array<std::vector<double>, kSides> values;
    for (std::size_t side = 0; side < kSides; ++side) values[side] = used(side);
    std::vector<double> found;
    for (std::size_t i = 0; i < static_cast<std::size_t>(blocks); ++i) {
        if (is_direct_) {
            if (is_used(kMore)) found.push_back(values[kMore][i] - values[kLess][i]);
            continue;
        }
        if (is_used(kMore)) found.push_back(values[kMore][i] - values[kGood][i]);
        if (is_used(kLess)) found.push_back(values[kBad][i] - values[kLess][i]);
    }
    return found;
}

Effect BlockProof::effect(std::size_t slower, std::size_t faster) const {
    auto const noise = trials_.noise();
    auto const high = used(slower), low = used(faster);
    if (high.empty() || low.empty()) return {};
    auto const more = level_of(high, noise), less = level_of(low, noise);
    double const value = more.value_s - less.value_s;
    boost::math::students_t const distribution(std::max(1.0, noise.freedom));
    double const reach =
        boost::math::quantile(distribution, 0.975) * std::hypot(more.error_s, less.error_s);
    return {value, value - reach, value + reach};
}

Proof BlockProof::evaluate(int looks) const {
    Proof proof;
    proof.looks = looks;
    proof.blocks = blocks_;
    for (std::size_t side = 0; side < kSides; ++side) {
        if (is_used(side)) {
            proof.blocks = std::min(proof.blocks, static_cast<int>(used(side).size()));
        }
    }
    proof.added = effect(kMore, kGood);
    proof.removed = effect(kBad, kLess);
    if (is_direct_) proof.added = proof.removed = effect(kMore, kLess);
    auto const differing = differences(proof.blocks);
    proof.pairs = static_cast<int>(differing.size());
    if (!differing.empty()) proof.p = std::min(1.0, looks * sign_flip_p(differing));
    double const sigma = trials_.noise().sigma_s;
    auto const reaches = [&](std::size_t slower, std::size_t faster) {
        auto const high = used(slower), low = used(faster);
        if (high.empty() || low.empty()) return false;
        double const shortfall = median(high) - median(low);
        double const error = std::sqrt(1.0 / static_cast<double>(high.size()) +
                                       1.0 / static_cast<double>(low.size()));
        return shortfall <= std::max(kPartOfGap * gap_s_, kToleranceSigmas * sigma * error) &&
               shortfall < gap_s_ / 2;
    };
    proof.sufficient = reaches(kBad, kMore);
    proof.necessary = reaches(kLess, kGood);
    return proof;
}

}  // namespace osora::db::analysis
