// Costs of a sample, from the layers of worker/model (STDiT) and the formulas of the MMDiT report
// (arXiv 2503.09642, appendix).
#include "plan/model/model_cost.hpp"

#include <algorithm>

namespace osora::plan {
namespace {

double token_work(ModelShape const& shape, SampleCost const& cost) {
    auto const tokens = static_cast<double>(cost.tokens());
    double const ends =
        2.0 * shape.hidden * shape.patch_volume() * (shape.in_channels + shape.out_channels());
    return tokens * ends;
}

/// One STDiT2 block does spatial and temporal attention with one MLP: 18 C^2 a token (MLP 4)
/// where an STDiT3 pair of blocks does 28.
double stdit2_flops(ModelShape const& shape, SampleCost const& cost) {
    double const c = shape.hidden;
    double const text = shape.text_tokens;
    double const linear = 2 * (10 + 2 * shape.mlp_ratio) * c * c;
    double const attention =
        4 * c * static_cast<double>(cost.tokens_per_frame + cost.frames) + 4 * c * text;
    return shape.depth *
           (static_cast<double>(cost.tokens()) * (linear + attention) + 4 * c * c * text);
}

double mmdit_flops(ModelShape const& shape, SampleCost const& cost) {
    double const c = shape.hidden;
    double const tokens = static_cast<double>(cost.tokens()) + shape.text_tokens;
    double const linear = 2 * (4 + 2 * shape.mlp_ratio) * c * c;
    return shape.blocks() * tokens * (linear + 4 * c * tokens);
}

/// Values that one block keeps for backward, per token, in units of C. STDiT3 (worker/model
/// block.cpp, attention.cpp): inputs and outputs of both norms 4, inputs of qkv and fc1 2, qkv 3, q
/// and k normalised and rotated 4, outputs of both attentions 2, inputs of the gates 2, input and
/// output of the cross query 2; the MLP keeps its hidden values before and after GELU.
double saved_values(ModelShape const& shape) {
    double const attention = 19 + 2 * shape.mlp_ratio;
    // STDiT2 blocks have one more attention: norm 2, linear input 1, qkv 3, q and k 4, outputs 2.
    return shape.family == ModelFamily::stdit2 ? attention + 12 : attention;
}

/// For a plan, whose values were checked.
RecomputeChoice checked_choice(std::string_view text) {
    auto const choice = recompute_choice(text);
    return choice ? *choice : RecomputeChoice{};
}

/// The part of `saved_values` that is freed if attention is recomputed: everything between x and
/// the sum after cross attention; in MMDiT between the three projections and their softmax.
double attention_values(ModelShape const& shape) {
    switch (shape.family) {
        case ModelFamily::stdit3:
            return 14;
        case ModelFamily::stdit2:
            return 26;
        case ModelFamily::mmdit:
            return 4;
    }
    return 0;
}

/// Values that a store does not keep, because they can be recomputed from the rest: norms and
/// modulated values 4, GELU mlp_ratio, normalised q and k 2 (worker/memory/saved_kind.hpp).
double remade_values(ModelShape const& shape, bool attention_recomputed) {
    return shape.mlp_ratio + (attention_recomputed ? 2 : 6);
}

/// Bytes in the store for a value of `bytes` bytes: bf16; codes with a scale per 128; the host.
double stored_bytes(std::string_view store, double bytes) {
    if (store == "bf16") return 2;
    if (store == "int8") return 1 + 4.0 / 128;
    return store == "offload" ? 0 : bytes;
}

}  // namespace

DitSizes dit_sizes(ModelShape const& shape) {
    return {.hidden = shape.hidden,
            .depth = shape.depth,
            .mlp_ratio = shape.mlp_ratio,
            .patch_frames = shape.patch_size[0],
            .patch_side = shape.patch_size[1],
            .text_tokens = shape.text_tokens,
            .spatial_compression = shape.vae.spatial,
            .temporal_compression = shape.vae.temporal,
            .temporal_chunk = shape.vae.chunk_frames};
}

namespace {

/// Values of all blocks kept until backward, per token in units of C, and of the block that is
/// recomputed.
struct KeptValues {
    double waiting = 0, again = 0;
    double blocks_with_scores = 0;
};
KeptValues kept_values(ModelShape const& shape, ActivationChoice const& activations) {
    RecomputeChoice const recompute = checked_choice(activations.recompute);
    std::int64_t const blocks = shape.blocks();
    auto const whole = static_cast<double>(std::min(blocks, recompute.first_blocks));
    double const rest = static_cast<double>(blocks) - whole;
    double const all = saved_values(shape);
    double const attention = recompute.attention ? attention_values(shape) : 0;
    double const remade =
        activations.store == "none" ? 0 : remade_values(shape, recompute.attention);
    return {.waiting = whole + rest * (all - attention - remade),
            .again = whole > 0 ? all : attention,
            .blocks_with_scores = recompute.attention ? 0 : rest};
}

}  // namespace

SampleCost sample_cost(ModelShape const& shape, BucketKey const& key, int bytes_per_value,
                       ActivationChoice const& activations) {
    DitSizes const sizes = dit_sizes(shape);
    TokenGrid const grid = token_grid(sizes, key);
    SampleCost cost;
    cost.frames = grid.frames;
    cost.tokens_per_frame = grid.per_frame;
    switch (shape.family) {
        case ModelFamily::stdit3:
            cost.forward_flops = forward_flops(sizes, key);
            break;
        case ModelFamily::stdit2:
            cost.forward_flops = stdit2_flops(shape, cost);
            break;
        case ModelFamily::mmdit:
            cost.forward_flops = mmdit_flops(shape, cost);
            break;
    }
    cost.forward_flops += token_work(shape, cost);
    auto const tokens = static_cast<double>(
        cost.tokens() + (shape.family == ModelFamily::mmdit ? shape.text_tokens : 0));
    double const values = tokens * shape.hidden;
    double const value_bytes = values * bytes_per_value;
    KeptValues const kept = kept_values(shape, activations);
    double const softmax_bytes = 2 * tokens * shape.heads * 4;  // log-sum-exp of two attentions
    double const ends = 2 * value_bytes;                        // embedding and final layer
    cost.saved_bytes = static_cast<std::int64_t>(
        kept.waiting * values * stored_bytes(activations.store, bytes_per_value) +
        kept.blocks_with_scores * softmax_bytes + ends);
    cost.working_bytes =
        static_cast<std::int64_t>((4 + 2 * shape.mlp_ratio + kept.again) * value_bytes);
    std::int64_t const latent_values = cost.tokens() * shape.patch_volume() * shape.in_channels;
    cost.input_bytes = 6 * 4 * latent_values;
    return cost;
}

double activation_share(ModelShape const& shape, int tp_size) {
    // Inputs of qkv, the query of cross attention and fc1; in MMDiT of qkv and the MLP.
    double const read = shape.family == ModelFamily::mmdit    ? 2
                        : shape.family == ModelFamily::stdit2 ? 4
                                                              : 3;
    double const whole = read / saved_values(shape);
    return whole + (1 - whole) / tp_size;
}

double recomputed_share(ModelShape const& shape, SampleCost const& cost,
                        std::string_view recompute) {
    RecomputeChoice const choice = checked_choice(recompute);
    std::int64_t const blocks = shape.blocks();
    if (choice.first_blocks > 0) {
        return static_cast<double>(std::min(blocks, choice.first_blocks)) /
               static_cast<double>(blocks);
    }
    if (!choice.attention) return 0;
    // Everything except the MLP; in MMDiT only the products of queries, keys and values.
    double const c = shape.hidden;
    double const n = static_cast<double>(cost.tokens()) +
                     (shape.family == ModelFamily::mmdit ? shape.text_tokens : 0);
    double const blocks_flops = static_cast<double>(blocks) * n;
    if (shape.family == ModelFamily::mmdit) return blocks_flops * 4 * c * n / cost.forward_flops;
    return 1 - blocks_flops * 4 * shape.mlp_ratio * c * c / cost.forward_flops;
}

std::int64_t operators_per_pass(ModelShape const& shape) {
    // For an STDiT3 block in worker/model: 45 operators forward including views, twice that
    // backward.
    constexpr std::int64_t kBlock = 3 * 45;
    constexpr std::int64_t kEnds = 3 * 60;  // embedders, final layer, loss
    return shape.blocks() * kBlock + kEnds;
}

}  // namespace osora::plan
