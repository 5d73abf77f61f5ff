// Cost of one sample of a bucket for a model: tokens, FLOPs, operators, bytes kept for backward.
// Pure; formulas for one rank without tensor, sequence or pipeline parallelism.
#pragma once

#include "plan/buckets/cost.hpp"
#include "plan/buckets/shapes.hpp"
#include "plan/model/kept_values.hpp"
#include "plan/model/model_description.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace osora::plan {

/// The sizes from which bucket costs and equal-cost batches are computed.
[[nodiscard]] DitSizes dit_sizes(ModelShape const& shape);

struct SampleCost {
    std::int64_t frames = 0;            // T, latent frames in tokens
    std::int64_t tokens_per_frame = 0;  // S
    double forward_flops = 0;
    /// Bytes that forward keeps for backward on the device.
    std::int64_t saved_bytes = 0;
    /// Bytes at the peak of backward besides the saved ones.
    std::int64_t working_bytes = 0;
    /// Bytes at the end of forward besides the saved ones (or, below 0, of these not yet saved).
    std::int64_t unreleased_bytes = 0;
    /// A latent of the sample, fp32; and those that are held in backward, and when forward ends:
    /// sample, noise, noised, patches.
    std::int64_t latent_bytes = 0;
    int latents_in_backward = 0, latents_in_forward = 0;
    [[nodiscard]] std::int64_t input_bytes() const { return latents_in_backward * latent_bytes; }

    [[nodiscard]] std::int64_t tokens() const { return frames * tokens_per_frame; }
};

/// STDiT: N = S T tokens, forward_flops() of buckets/cost.hpp plus patch embedding and final layer.
/// MMDiT: N = S T image + L text tokens in joint attention; 24 N C^2 + 4 N^2 C a block
/// (mlp_ratio 4).
[[nodiscard]] SampleCost sample_cost(ModelShape const& shape, BucketKey const& key,
                                     KeptQuery const& kept = {});

/// Of the forward_flops those of attention's two products: scores of all tokens that see each
/// other, and their values.
[[nodiscard]] double attention_flops(ModelShape const& shape, SampleCost const& cost);
/// >= 1: kernels of GPUs compute heads of 64 or 128 values, so that STDiT's 72 cost as much as 128.
[[nodiscard]] double head_padding(ModelShape const& shape);

/// FLOPs of a sample's forward pass in the embedders (captions, patches, times), in each block, and
/// in the final layer. Blocks, patches and final layer are the forward_flops of sample_cost(). What
/// embeds input counts two thirds: its backward pass needs no gradient of that.
struct PartFlops {
    double first = 0;
    std::vector<double> blocks;
    std::vector<double> attention;  // of each block those of attention's two products
    double last = 0;
};
[[nodiscard]] PartFlops part_flops(ModelShape const& shape, BucketKey const& key);

/// The share of a sample's activation memory on each of `tp_size` ranks: everything is divided
/// except inputs of linear layers, which each rank has whole.
[[nodiscard]] double activation_share(ModelShape const& shape, int tp_size);

/// Number of values that every block reads beside the tokens of a micro-batch, which pipeline
/// stages send on: embedded captions (STDiT, of all text tokens), embedded times and modulation.
[[nodiscard]] double condition_values(ModelShape const& shape, int samples);

/// FLOPs of a training step over those of its forward pass, without recomputation.
inline constexpr double kTrainingFactor = 3;
/// Of a sample's forward and backward pass, without recomputation. Frozen weights need no gradient,
/// so that the backward pass of their linear layer costs as much as its forward pass; in
/// attention's products both factors have one. `frozen_share`: of the linear layers
/// (trained_parameters.hpp).
[[nodiscard]] double training_flops(ModelShape const& shape, SampleCost const& cost,
                                    double frozen_share);
/// Of a sample's forward pass in adapters of this rank, on the default of lora_targets: 2 for each
/// of their parameters and token. Only those of captions' keys and values read captions alone.
[[nodiscard]] double adapter_flops(ModelShape const& shape, SampleCost const& cost, int lora_rank);
/// The share of a forward pass that backward recomputes: 1 with full recompute.
[[nodiscard]] double recomputed_share(ModelShape const& shape, SampleCost const& cost,
                                      std::string_view recompute);

/// Operators launched by a forward and backward pass, independent of the batch.
[[nodiscard]] std::int64_t operators_per_pass(ModelShape const& shape);

}  // namespace osora::plan
