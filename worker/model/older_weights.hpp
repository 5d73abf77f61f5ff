// Weights of PixArt and of older Open-Sora models under STDiT3's names and shapes, as
// opensora/utils/ckpt_utils.py (v1.2.0, reparameter) renames them.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/model/stdit3_config.hpp"

#include <vector>

namespace osora::worker {

/// blocks.* as spatial_blocks.*, a 2-D patch embedding as one of a single frame, null captions cut
/// or repeated (their last row) to model_max_length, tables of positions left out. What STDiT3
/// has besides (temporal blocks, fps) is not made up: Parameters::check names it. Weights that are
/// STDiT3's come back as they are.
[[nodiscard]] std::vector<NamedTensor> as_stdit3_weights(std::vector<NamedTensor> weights,
                                                         Stdit3Config const& config);

}  // namespace osora::worker
