// From the rates of pairs to problems of single ends: nodes from transfers between nodes, leaves
// from transfers between leaves. Pure.
#pragma once

#include <vector>

namespace osora::topology {

/// Result of one pair in one round, in any unit. Values that are negative or not finite are
/// ignored; 0 is a pair that moved nothing.
struct PairValue {
    int a = 0, b = 0;
    double value = 0;
};

struct EndScore {
    double of_median = 0;    // median over its transfers with ends that are not bad / median of all
    double threshold = 0;    // of of_median; a bad end's second best is also low
    int samples = 0;         // that went into of_median; 0: it has none
    int partners_clean = 0;  // of those, with a partner that is not bad
    bool bad = false;
};

struct EndScores {
    std::vector<EndScore> ends;
    double median = 0;  // of pairs of which neither end is bad
    double noise = 0;   // robust standard deviation of those, relative to `median`
};

/// A pair runs at the speed of its slower end, so a low pair shows that one of the two is bad. An
/// end counts as bad if (nearly) all its pairs are low; the others are then judged by their pairs
/// with good ends. An end is bad below 1 - max(least_drop, 4.5 standard errors of its median), so
/// that noise blames nobody; with a single transfer the limit is 2.5 times least_drop.
[[nodiscard]] EndScores score_ends(int count, std::vector<PairValue> const& values,
                                   double least_drop = 0.08);

}  // namespace osora::topology
