// [vae] of the run file: the video autoencoder in front of a model, or the one that is trained.
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <string>

namespace osora::plan {

struct VaeSection {
    std::string arch = "opensora-v1.2";
    std::string weights;           // a file, an index of shards or their folder; empty: random
    AutoOr<int> micro_batch_size;  // frames that the 2-D part processes at a time
    AutoOr<int> micro_frame_size;  // frames that the temporal part processes at a time
    int tile_sample_min_size = 0;  // pixels; larger frames are split into tiles of this side; 0:
                                   // never
};
BOOST_DESCRIBE_STRUCT(VaeSection, (),
                      (arch, weights, micro_batch_size, micro_frame_size, tile_sample_min_size))

}  // namespace osora::plan
