// Weights of PixArt and of older Open-Sora models under the names and shapes of STDiT3 and STDiT2,
// as opensora/utils/ckpt_utils.py (v1.1.0 and v1.2.0, reparameter) renames them. Open-Sora then
// loads what there is; here the parts that such weights cannot have are known, and everything else
// is required.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/model/stdit/stdit2_config.hpp"

#include <string>
#include <vector>

namespace osora::worker {

struct ConvertedWeights {
    std::vector<NamedTensor> weights;
    bool older = false;                // of another network: keep_initial() may complete them
    std::vector<std::string> notices;  // what was changed, for people
};

/// blocks.* as spatial_blocks.*, a 2-D patch embedding as one of a single frame, null captions cut
/// or repeated (their last row) to model_max_length, tables of positions and PixArt's embedders of
/// sizes left out. STDiT3 weights are returned unchanged.
[[nodiscard]] ConvertedWeights as_stdit3_weights(std::vector<NamedTensor> weights,
                                                 Stdit3Config const& config);
/// The same for STDiT2, whose blocks have PixArt's names; also of STDiT (v1.0).
[[nodiscard]] ConvertedWeights as_stdit2_weights(std::vector<NamedTensor> weights,
                                                 Stdit2Config const& config);

/// Adds to older weights the initial values in `network` of the parts that came with STDiT:
/// attention over frames, frames per second and the other conditions, rope, the norms of q and k. A
/// part of which some tensors exist is not completed: Parameters::check names the rest.
void keep_initial(ConvertedWeights& converted, Parameters const& network);

}  // namespace osora::worker
