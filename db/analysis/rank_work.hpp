// How long each rank works in a step before it waits for the others, from the matrices that its
// node recorded. Pure.
#pragma once

#include "db/record/run_record.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::db::analysis {

/// Steps of the ranks [first_rank, first_rank + ranks), in the format of
/// protocol/steps/matrix_codec.hpp.
struct RankBlock {
    int first_rank = 0, ranks = 0, steps = 0;
    std::string data;
    int attempt = 0, step0 = 0;
};

struct RankWork {
    int rank = 0, steps = 0;
    double median_s = kUnknown;  // over its steps
    /// Excess over the median rank's work, as a share of it; with two ranks: over the faster one's.
    double excess = 0;
};
BOOST_DESCRIBE_STRUCT(RankWork, (), (rank, steps, median_s, excess))

/// Work of each rank, slowest first. Leaves out blocks that cannot be read; buckets may differ in
/// length, since ranks of a step do the same work.
[[nodiscard]] std::vector<RankWork> rank_work(std::vector<RankBlock> const& blocks);

}  // namespace osora::db::analysis
