// Exact one-sided permutation test of paired differences. Pure.
#pragma once

#include <span>

namespace osora::db::analysis {

/// Pairs of (slower, faster) trials, as differences in seconds. If neither of a pair is slower than
/// the other, each difference is as likely with the other sign: p is the share of the 2^n sign
/// patterns with a sum at least as large as the one seen. Differences beyond 1.5 times the median
/// of |difference| count as that, whatever their sign, so that one odd run does not decide. 1
/// for no pairs; at most 40.
[[nodiscard]] double sign_flip_p(std::span<double const> differences);

}  // namespace osora::db::analysis
