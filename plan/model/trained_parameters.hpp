// How many numbers of a model a run trains: all, all but what optim.freeze names, or adapters
// alone. Pure; memory and step time count gradients, optimizer and average by it.
#pragma once

#include "plan/model/model_description.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

/// Learned tensors whose names start with `name`, as checkpoints name them.
struct ModelPart {
    std::string name;  // "spatial_blocks.3.attn."
    std::int64_t parameters = 0;
    std::int64_t shared = 0;  // of them, in the linear layers that tensor parallel ranks share
};
/// A model without a rest: attention, MLP and modulation of each block, and each embedder.
[[nodiscard]] std::vector<ModelPart> model_parts(ModelShape const& shape);

/// Numbers in whole parts that one of these prefixes covers. What a prefix freezes of the inside
/// of a part is not counted: a plan rather takes too much memory than too little.
[[nodiscard]] std::int64_t frozen_parameters(ModelShape const& shape,
                                             std::vector<std::string> const& freeze);

/// In blocks, which pipeline stages share: all, and those that are trained; and of them in linear
/// layers, which tensor parallel ranks share.
struct BlockParameters {
    std::int64_t all = 0, trained = 0;
    std::int64_t shared = 0, shared_trained = 0;
};
[[nodiscard]] BlockParameters parameters_of_blocks(ModelShape const& shape,
                                                   std::vector<std::string> const& freeze);

/// With lora_rank > 0 adapters alone.
[[nodiscard]] std::int64_t trained_parameters(ModelShape const& shape, int lora_rank,
                                              std::vector<std::string> const& freeze);

}  // namespace osora::plan
