#include "db/analysis/changepoint/change_point.hpp"

#include <cmath>

namespace osora::db::analysis::changepoint {

double ChangePoint::effect() const {
    if (before == after) return 0;
    if (before == 0) return std::copysign(std::numeric_limits<double>::infinity(), after);
    return (after - before) / std::abs(before);
}

std::vector<Segment> segments_between(std::vector<int> const& indices, int count) {
    std::vector<Segment> segments;
    int start = 0;
    for (int const index : indices) {
        segments.push_back({start, index});
        start = index;
    }
    segments.push_back({start, count});
    return segments;
}

}  // namespace osora::db::analysis::changepoint
