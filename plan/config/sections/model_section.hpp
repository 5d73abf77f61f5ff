// [model] of the run file: the network that is trained. A size of 0 means the architecture's.
#pragma once

#include <boost/describe.hpp>

#include <string>

namespace osora::plan {

struct ModelSection {
    std::string arch = "stdit3-tiny";
    std::string init;          // safetensors file; empty = random from the seed
    int depth = 0;             // STDiT: pairs of blocks; MMDiT: double blocks
    int single_depth = 0;      // MMDiT: single blocks
    int hidden = 0;            // width of a token
    int heads = 0;             // of attention
    double mlp_ratio = 0;      // hidden values of the MLP over `hidden`
    int patch_size = 0;        // height and width of a token, in latent pixels
    int in_channels = 0;       // of a latent; 3 in pixel space
    int text_tokens = 0;       // of a caption
    int caption_channels = 0;  // of an embedded token of text
    int pooled_channels = 0;   // MMDiT: of the one vector of a caption
};
BOOST_DESCRIBE_STRUCT(ModelSection, (),
                      (arch, init, depth, single_depth, hidden, heads, mlp_ratio, patch_size,
                       in_channels, text_tokens, caption_channels, pooled_channels))

}  // namespace osora::plan
