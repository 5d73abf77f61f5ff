// Where to cut a series so that its segments' costs and a penalty for each cut are least. Pure.
//
// The cost of a segment is min over m of the sum of min((y - m)^2, clip^2): squared error, but a
// value far from the level costs clip^2 however far it is, so that single slow runs are no change.
// With the best m (not, say, the median) a function of m says all that there is to know of the
// past, so the optimum is exact and takes about linear time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace osora::db::analysis::changepoint {

struct PartitionOptions {
    double clip = 3;      // in the unit of the values
    double penalty = 10;  // penalty of a cut, in squared units
    int min_segment = 3;  // values; at least 1
};

/// Ascending first indices of all segments except the first; none for fewer than 2 min_segment
/// values. Values must be finite and of the order of 1 to 1e6 (scale them by their noise). `work`,
/// if given, is increased by the number of pieces of the cost function that were visited.
[[nodiscard]] std::vector<int> partition(std::span<double const> values,
                                         PartitionOptions const& options,
                                         std::int64_t* work = nullptr);

/// The cost of one segment by brute force over the values that are not clipped: O(n^2).
[[nodiscard]] double segment_cost(std::span<double const> values, double clip);

}  // namespace osora::db::analysis::changepoint
