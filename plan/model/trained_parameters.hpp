// How many parameters of a model a run trains: all, all except optim.freeze, or only adapters.
// Pure; memory and step time use it for gradients, optimizer and average.
#pragma once

#include "plan/model/model_description.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

/// Learned tensors whose names, as in checkpoints, start with `name`.
struct ModelPart {
    std::string name;  // "spatial_blocks.3.attn."
    std::int64_t parameters = 0;
    std::int64_t shared = 0;  // of these, in the linear layers that tensor parallel ranks share
};
/// The whole model: attention, MLP and modulation of each block, and each embedder.
[[nodiscard]] std::vector<ModelPart> model_parts(ModelShape const& shape);

/// Parameters in complete parts that one of these prefixes covers. Prefixes that freeze a part's
/// inside do not count: a plan overestimates memory rather than underestimates it.
[[nodiscard]] std::int64_t frozen_parameters(ModelShape const& shape,
                                             std::vector<std::string> const& freeze);

/// In blocks, which pipeline stages share: all, and trained ones; and those in linear layers, which
/// tensor parallel ranks share. Without adapters.
struct BlockParameters {
    std::int64_t all = 0, trained = 0;
    std::int64_t shared = 0, shared_trained = 0;
    std::int64_t adapters = 0, shared_adapters = 0;  // of rank 1, on the default of lora_targets
    void add(BlockParameters const& other);
};
/// With adapters of a rank, which alone are trained; as they are with rank 0.
[[nodiscard]] BlockParameters with_adapters(BlockParameters parameters, int lora_rank);
/// Of all blocks.
[[nodiscard]] BlockParameters parameters_of_blocks(ModelShape const& shape,
                                                   std::vector<std::string> const& freeze);

/// Of each block, in the order of a forward pass.
[[nodiscard]] std::vector<BlockParameters> blocks_of(ModelShape const& shape,
                                                     std::vector<std::string> const& freeze);

/// Outside the blocks: of the embedders, and of the final layer.
struct OuterParameters {
    std::int64_t first = 0, first_trained = 0;
    std::int64_t last = 0, last_trained = 0;
};
[[nodiscard]] OuterParameters outer_parameters(ModelShape const& shape,
                                               std::vector<std::string> const& freeze);

/// Parameters in LoRA adapters of this rank on the linears of attention and MLP, which is the
/// default of optim.lora_targets ([]); 0 for rank 0.
[[nodiscard]] std::int64_t adapter_parameters(ModelShape const& shape, int rank);

/// The share of the blocks' linear layers whose weights are frozen; 1 with adapters. Blocks count
/// equally, as their work is equal; parts of a block by their weights, as if all read every token.
[[nodiscard]] double frozen_linear_share(ModelShape const& shape, int lora_rank,
                                         std::vector<std::string> const& freeze);

/// Whether a block has weights that are not trained.
[[nodiscard]] bool has_frozen_blocks(ModelShape const& shape, int lora_rank,
                                     std::vector<std::string> const& freeze);

/// With lora_rank > 0 only adapters.
[[nodiscard]] std::int64_t trained_parameters(ModelShape const& shape, int lora_rank,
                                              std::vector<std::string> const& freeze);

}  // namespace osora::plan
