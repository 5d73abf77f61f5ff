// How long each rank works in a step before it waits for the others, out of the matrices that its
// node told. Pure.
#pragma once

#include "db/record/run_record.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::db::analysis {

/// Steps of the ranks [first_rank, first_rank + ranks), as protocol/steps/matrix_codec.hpp writes
/// them.
struct RankBlock {
    int first_rank = 0, ranks = 0, steps = 0;
    std::string data;
    int attempt = 0, step0 = 0;
};

struct RankWork {
    int rank = 0, steps = 0;
    double median_s = kUnknown;  // over its steps
    /// Over the median rank's, as a part of that; of two ranks: over the faster one's.
    double excess = 0;
};
BOOST_DESCRIBE_STRUCT(RankWork, (), (rank, steps, median_s, excess))

/// Of each rank, slowest first. Blocks that cannot be read are left out; buckets whose steps differ
/// in length do not matter, since ranks of a step do the same work.
[[nodiscard]] std::vector<RankWork> rank_work(std::vector<RankBlock> const& blocks);

}  // namespace osora::db::analysis
