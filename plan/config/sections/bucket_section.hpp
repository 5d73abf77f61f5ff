// [[bucket]] of the run file: one size of sample.
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <string>

namespace osora::plan {

struct BucketSection {
    std::string resolution;  // "360p", "512", or N for N x N pixels
    int num_frames = 1;
    double keep_prob = 1.0;
    AutoOr<int> micro_batch_size;
    AutoOr<double> compute_s = {};  // of a step, in a rehearsal
};
BOOST_DESCRIBE_STRUCT(BucketSection, (),
                      (resolution, num_frames, keep_prob, micro_batch_size, compute_s))

}  // namespace osora::plan
