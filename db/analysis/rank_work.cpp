#include "db/analysis/rank_work.hpp"

#include "base/robust.hpp"
#include "protocol/steps/matrix_codec.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace osora::db::analysis {

std::vector<RankWork> rank_work(std::vector<RankBlock> const& blocks) {
    std::map<int, std::vector<double>> by_rank;
    for (RankBlock const& block : blocks) {
        if (block.ranks <= 0 || block.steps <= 0) continue;
        auto const ranks = static_cast<std::size_t>(block.ranks);
        auto const values =
            protocol::decode_matrix(block.data, static_cast<std::size_t>(block.steps), ranks);
        if (values.has_error()) continue;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            std::vector<double> times;
            for (std::size_t i = rank; i < values->size(); i += ranks) {
                if (!std::isnan((*values)[i])) times.push_back((*values)[i]);
            }
            if (times.empty()) continue;
            auto& all = by_rank[block.first_rank + static_cast<int>(rank)];
            all.insert(all.end(), times.begin(), times.end());
        }
    }
    std::vector<RankWork> found;
    for (auto& [rank, times] : by_rank) {
        int const steps = static_cast<int>(times.size());
        found.push_back({rank, steps, median(std::move(times))});
    }
    std::ranges::stable_sort(found, std::greater{}, &RankWork::median_s);
    if (found.empty()) return found;
    double const middle = found[found.size() / 2].median_s;
    for (RankWork& each : found) each.excess = middle > 0 ? each.median_s / middle - 1 : 0;
    return found;
}

}  // namespace osora::db::analysis
