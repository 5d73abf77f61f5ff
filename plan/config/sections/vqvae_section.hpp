// [vqvae] of the run file: the network that job = "train_vqvae" trains. The defaults are VideoGPT's
// (videogpt/vqvae.py).
#pragma once

#include <boost/describe.hpp>

namespace osora::plan {

struct VqvaeSection {
    int n_codes = 2048;
    int embedding_dim = 256;
    int n_hiddens = 240;
    int n_res_layers = 4;
    int downsample_frames = 4;  // frames a code; a power of two
    int downsample_pixels = 4;  // of height and width
    double commitment = 0.25;
    double decay = 0.99;      // of the averages that codes are
    double dead_below = 1.0;  // average uses a step
};
BOOST_DESCRIBE_STRUCT(VqvaeSection, (),
                      (n_codes, embedding_dim, n_hiddens, n_res_layers, downsample_frames,
                       downsample_pixels, commitment, decay, dead_below))

}  // namespace osora::plan
