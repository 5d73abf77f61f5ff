// Costs of a sample, counted from the layers of worker/model (STDiT) and the formulas of the MMDiT
// report (arXiv 2503.09642, appendix).
#include "plan/model_cost.hpp"

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
/// block.cpp, attention.cpp): what both norms read and give 4, what qkv and fc1 read 2, qkv 3,
/// q and k normalised and rotated 4, what both attentions give 2, what the gates scale 2, what the
/// cross query reads and gives 2; the MLP keeps its hidden values before and after GELU.
double saved_values(ModelShape const& shape) {
    double const attention = 19 + 2 * shape.mlp_ratio;
    // STDiT2 blocks hold one more attention: norm 2, linear input 1, qkv 3, q and k 4, outputs 2.
    return shape.family == ModelFamily::stdit2 ? attention + 12 : attention;
}

std::int64_t block_count(ModelShape const& shape) {
    return shape.family == ModelFamily::stdit2 ? shape.depth : shape.blocks();
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

SampleCost sample_cost(ModelShape const& shape, BucketKey const& key, int bytes_per_value) {
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
    double const value_bytes = tokens * shape.hidden * bytes_per_value;
    double const softmax_bytes = 2 * tokens * shape.heads * 4;  // log-sum-exp of two attentions
    cost.saved_bytes =
        static_cast<std::int64_t>(static_cast<double>(block_count(shape)) *
                                      (saved_values(shape) * value_bytes + softmax_bytes) +
                                  2 * value_bytes);  // embedding and final layer
    cost.working_bytes = static_cast<std::int64_t>((4 + 2 * shape.mlp_ratio) * value_bytes);
    std::int64_t const latent_values = cost.tokens() * shape.patch_volume() * shape.in_channels;
    cost.input_bytes = 6 * 4 * latent_values;
    return cost;
}

double training_factor(bool full_recompute) {
    return full_recompute ? 4.0 : 3.0;
}

std::int64_t operators_per_pass(ModelShape const& shape) {
    // Of an STDiT3 block in worker/model: 45 operators forward with views, twice that backward.
    constexpr std::int64_t kBlock = 3 * 45;
    constexpr std::int64_t kEnds = 3 * 60;  // embedders, final layer, loss
    return block_count(shape) * kBlock + kEnds;
}

}  // namespace osora::plan
