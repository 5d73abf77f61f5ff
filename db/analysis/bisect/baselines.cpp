#include "db/analysis/bisect/baselines.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::db::analysis {
namespace {

constexpr double kGapSigmas = 3;
// One-sided error rates for a gap as large between equals: to start a search, and to call the gap
// real but too small.
constexpr double kSearchChance = 0.0003, kRealChance = 0.002;
constexpr double kGapErrors = 2.5;    // standard errors below the needed gap
constexpr double kSmallErrors = 1.5;  // below this a gap is most likely none
constexpr double kPlainGap = 10;      // sigma
constexpr int kExtension = 4;         // times baseline_trials, while the gap remains doubtful

struct Gap {
    Baselines levels;
    Noise noise;
    double error_s = 0, needed_s = 0;
    bool is_real = false, is_certain = false;
};

Gap read_gap(TrialRunner const& trials, Hybrid const& good, Hybrid const& bad) {
    Gap gap;
    auto& levels = gap.levels;
    gap.noise = trials.noise();
    levels.good = trials.level(good);
    levels.bad = trials.level(bad);
    levels.gap_s = levels.bad.value_s - levels.good.value_s;
    levels.d = levels.gap_s / gap.noise.sigma_s;
    gap.error_s = std::hypot(levels.good.error_s, levels.bad.error_s);
    gap.needed_s =
        std::max(trials.options().min_effect * levels.good.value_s, kGapSigmas * gap.noise.sigma_s);
    boost::math::students_t const distribution(std::max(1.0, gap.noise.freedom));
    auto const exceeds = [&](double chance) {
        auto const errors = boost::math::quantile(boost::math::complement(distribution, chance));
        return levels.gap_s > errors * gap.error_s;
    };
    gap.is_real = exceeds(kRealChance);
    gap.is_certain = exceeds(kSearchChance);
    return gap;
}

Baselines without_search(Gap const& gap, double min_effect) {
    auto levels = gap.levels;
    double const effect = levels.gap_s / levels.good.value_s;
    auto const text = fmt::format("good takes {}, bad {}: {:+.1f} %, {:.1f} sigma",
                                  format_seconds(levels.good.value_s),
                                  format_seconds(levels.bad.value_s), 100 * effect, levels.d);
    if (gap.is_real && effect >= min_effect) {
        levels.verdict = BisectVerdict::below_resolution;
        levels.reason = text + fmt::format("; parts of less than {:.0f} sigma cannot be told apart",
                                           kGapSigmas);
    } else {
        levels.verdict = BisectVerdict::not_reproducible;
        levels.reason =
            text + (effect < min_effect ? fmt::format("; less than {:.1f} %", 100 * min_effect)
                                        : std::string("; that may be chance"));
    }
    return levels;
}

/// One more trial of good and of bad, in an order that keeps a drift in time from favouring either.
Result<void> run_pair(TrialRunner& trials, int count, Hybrid const& good, Hybrid const& bad) {
    std::array<Hybrid const*, 2> pair{&good, &bad};
    if (count % 2 == 1) std::swap(pair[0], pair[1]);
    for (auto const* each : pair) {
        OSORA_TRY(bool const starts, trials.run(*each, TrialPhase::baseline));
        std::string_view const name = each == &good ? "good" : "bad";
        if (!starts) {
            return Error{Errc::cancelled, fmt::format("the {} run does not start as it was", name)};
        }
        trials.decide(std::string(name));
    }
    return boost::system::in_place_value;
}

}  // namespace

Result<Baselines> measure_baselines(TrialRunner& trials, std::size_t atoms) {
    auto const& options = trials.options();
    Hybrid const good(atoms, false), bad(atoms, true);
    OSORA_TRY_VOID(run_pair(trials, 0, good, bad));
    for (int count = 1;; ++count) {
        OSORA_TRY_VOID(run_pair(trials, count, good, bad));
        auto const gap = read_gap(trials, good, bad);
        auto const& levels = gap.levels;
        int const missing = options.baseline_trials - trials.count(good);
        bool const are_steady = is_steady(trials.samples(good), gap.noise.sigma_s) &&
                                is_steady(trials.samples(bad), gap.noise.sigma_s);
        bool const is_plain = std::isfinite(options.sigma_s) && levels.d >= kPlainGap;
        bool const is_above = levels.gap_s >= gap.needed_s && gap.is_certain && are_steady;
        if (is_above && (missing <= 0 || (is_plain && missing == 1))) return levels;
        bool const is_below = are_steady &&
                              levels.gap_s + kGapErrors * gap.error_s < gap.needed_s &&
                              (gap.is_real || levels.gap_s < kSmallErrors * gap.error_s);
        bool const is_late = trials.count(good) >= kExtension * options.baseline_trials;
        if (is_late && levels.gap_s >= gap.needed_s && gap.is_certain) return levels;
        if ((missing <= 0 && is_below) || is_late) return without_search(gap, options.min_effect);
    }
}

}  // namespace osora::db::analysis
