#include "db/analysis/changepoint/false_discovery.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::db::analysis::changepoint {

std::vector<double> adjusted_p(std::span<double const> p) {
    auto const value = [&](std::size_t i) { return std::isnan(p[i]) ? 1.0 : p[i]; };
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, value);
    std::vector<double> adjusted(p.size());
    double least = 1;
    for (std::size_t rank = order.size(); rank-- > 0;) {
        double const own =
            value(order[rank]) * static_cast<double>(order.size()) / static_cast<double>(rank + 1);
        adjusted[order[rank]] = least = std::min(least, own);
    }
    return adjusted;
}

}  // namespace osora::db::analysis::changepoint
