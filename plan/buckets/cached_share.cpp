// Tries clips of all sizes that make a difference: which rows a clip fits changes at the least area
// and the least number of frames of a row.
#include "plan/buckets/cached_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace osora::plan {
namespace {

constexpr double kShareRounding = 1e-6;  // shares are kept as floats

/// Of each row: the shares that clips of some size have in it.
std::vector<std::vector<double>> possible_shares(BucketTable const& table) {
    auto const rows = table.rows();
    std::vector<std::vector<double>> shares(rows.size());
    auto const add = [&](ClipShape const& clip) {
        auto const of_clip = table.row_shares(clip);
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (of_clip[i] > 0) shares[i].push_back(of_clip[i]);
    };
    for (BucketTable::Row const& by_area : rows) {
        double const least = std::ceil(kAreaShareMin * static_cast<double>(by_area.area));
        auto const pixels = static_cast<int>(least);
        for (BucketTable::Row const& by_frames : rows) {
            int const frames = by_frames.entry.num_frames;
            // Images, and what the two rules ask for.
            for (int const each : {1, frames, frames + 1}) add({each, pixels, 1});
        }
    }
    return shares;
}

}  // namespace

Result<void> check_cached_shares(BucketTable const& table, std::span<CachedShare const> cached) {
    auto const possible = possible_shares(table);
    for (CachedShare const& each : cached) {
        for (std::size_t i = 0; i < table.rows().size(); ++i) {
            BucketEntry const& entry = table.rows()[i].entry;
            bool const its_own =
                entry.resolution == each.resolution && entry.num_frames == each.num_frames;
            if (!its_own || entry.keep_prob >= 1) continue;
            bool const found = std::ranges::any_of(possible[i], [&](double share) {
                return std::abs(share - each.share) <= kShareRounding * share;
            });
            if (found) continue;
            return Error{
                Errc::invalid_input,
                fmt::format("bucket {} x {}: clips of the cache have a share of {:.4g} in "
                            "it, which keep_prob = {} gives to none; the cache's shares "
                            "count: leave keep_prob out, or give that of the encode run",
                            entry.resolution, entry.num_frames, each.share, entry.keep_prob)};
        }
    }
    return {};
}

}  // namespace osora::plan
