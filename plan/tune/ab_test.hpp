// Whether a change makes steps faster, from pairs of trials without and with it: keeps a change
// only if it helps beyond the noise between trials. Pure; driven by osora tune.
#pragma once

#include <span>
#include <string>

namespace osora::plan {

/// Median step times of two consecutive trials.
struct AbPair {
    double without_s = 0, with_s = 0;
};

enum class AbVerdict { undecided, better, worse, same };

struct AbOptions {
    double least_gain = 0.02;  // share of the step: a smaller gain does not justify a setting
    int pairs_min = 3, pairs_max = 6;
};

struct AbDecision {
    AbVerdict verdict = AbVerdict::undecided;
    double gain = 0;           // share of the step that is saved, over the pairs; negative: slower
    double low = 0, high = 0;  // 95 % interval, valid however often it is checked
    std::string reason;        // for people
};

/// Call it after each pair. Student's t on the logarithms of the ratios; the looks from pairs_min
/// to pairs_max share the 5 % (Bonferroni), so that early looks do not inflate the error. Ignores a
/// pair whose times are not above zero.
[[nodiscard]] AbDecision judge_ab(std::span<AbPair const> pairs, AbOptions const& options = {});

/// Which of a pair's trials comes first, so that a drift of the machine favours neither.
[[nodiscard]] inline bool starts_with_change(int pair) {
    return pair % 2 == 1;
}

}  // namespace osora::plan
