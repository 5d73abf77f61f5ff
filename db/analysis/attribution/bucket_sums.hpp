// Private to db/analysis/attribution: sums over steps by bucket, all that a waterfall needs to know
// of a set of steps; so a bootstrap adds blocks instead of steps. Pure.
#pragma once

#include "db/analysis/attribution/step_parts.hpp"
#include "db/analysis/attribution/waterfall.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct PartSums {
    double steps = 0, step_s = 0, work_s = 0, samples_per_rank = 0;
    std::array<double, kParts> s{};

    void add(PartSums const& other);
};

/// By bucket, with the same numbers on both sides.
using BucketSums = std::vector<PartSums>;

/// Numbers for bucket labels, shared by both sides.
class BucketNumbers {
public:
    [[nodiscard]] std::size_t of(std::string const& label);
    [[nodiscard]] std::size_t size() const { return numbers_.size(); }

private:
    std::map<std::string, std::size_t> numbers_;
};

/// A side divided into the units that a bootstrap draws: runs, or blocks of consecutive steps of
/// its runs.
struct SideSums {
    std::vector<BucketSums> runs, blocks;
    int steps = 0;
    double residual_share = kUnknown;
};
[[nodiscard]] SideSums sums_of(Side const& side, BucketNumbers& numbers);
void add_to(BucketSums& total, BucketSums const& unit);
[[nodiscard]] BucketSums total_of(std::vector<BucketSums> const& units);

}  // namespace osora::db::analysis
