// Costs of a sample, from the layers of worker/model (STDiT) and the formulas of the MMDiT report
// (arXiv 2503.09642, appendix).
#include "plan/model/model_cost.hpp"

#include "plan/model/trained_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

/// Captions as STDiT's blocks read them, and their keys and values in each. A pipeline's stage
/// also keeps what it sends on.
double caption_bytes(ModelShape const& shape, KeptQuery const& kept) {
    if (shape.family == ModelFamily::mmdit) return 0;  // tokens like others
    std::int64_t blocks = kept.spans.empty() ? shape.blocks() : 0;
    for (BlockSpan const& span : kept.spans) blocks += span.end - span.begin;
    if (checked_recompute(kept.activations.recompute).first_blocks > 0) blocks = 0;
    double const read = kept.spans.empty() ? 1 : 2;
    return kept.micro_batches * (read + 2 * static_cast<double>(blocks)) * shape.text_tokens *
           shape.hidden * kept.bytes_per_value;
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

SampleCost sample_cost(ModelShape const& shape, BucketKey const& key, KeptQuery const& kept) {
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
    bool const joint = shape.family == ModelFamily::mmdit;
    auto const tokens = static_cast<double>(cost.tokens() + (joint ? shape.text_tokens : 0));
    KeptQuery of_bucket = kept;
    of_bucket.one_frame = cost.frames == 1;
    KeptBytes const bytes = kept_bytes(shape, of_bucket);
    // Sines and cosines of MMDiT's positions, fp32.
    double const tables = joint ? 4.0 * shape.hidden / shape.heads : 0;
    cost.saved_bytes =
        static_cast<std::int64_t>(tokens * (bytes.waiting + tables) + caption_bytes(shape, kept));
    cost.working_bytes = static_cast<std::int64_t>(tokens * bytes.working);
    cost.unreleased_bytes = static_cast<std::int64_t>(tokens * bytes.unreleased);
    cost.latent_bytes = 4 * cost.tokens() * shape.patch_volume() * shape.in_channels;
    bool const lora = kept.lora_rank > 0;
    // Patches, which the gradient of their embedding needs; in MMDiT also the loss of each value.
    cost.latents_in_backward = (joint ? 2 : 1) - (lora ? 1 : 0);
    // With a store, patches of STDiT are in it.
    cost.latents_in_forward = !joint && kept.activations.store != "none" ? 3 : 4;
    return cost;
}

PartFlops part_flops(ModelShape const& shape, BucketKey const& key) {
    TokenGrid const grid = token_grid(dit_sizes(shape), key);
    double const c = shape.hidden, text = shape.text_tokens;
    auto const frames = static_cast<double>(grid.frames);
    auto const per_frame = static_cast<double>(grid.per_frame);
    bool const joint = shape.family == ModelFamily::mmdit;
    double const image = frames * per_frame, tokens = image + (joint ? text : 0);
    // As forward_flops() of buckets/cost.hpp, stdit2_flops() and mmdit_flops() sum them.
    PartFlops parts;
    auto const add_block = [&](double projections, double keys) {
        double const linear = 2 * (projections + 2 * shape.mlp_ratio) * c * c;
        parts.blocks.push_back(tokens * (linear + 4 * c * keys) + (joint ? 0 : 4 * c * c * text));
        parts.attention.push_back(tokens * 4 * c * keys);
    };
    for (int i = 0; i < shape.blocks(); ++i) {
        switch (shape.family) {
            case ModelFamily::stdit3:
                add_block(6, (i % 2 == 0 ? per_frame : frames) + text);
                break;
            case ModelFamily::stdit2:
                add_block(10, per_frame + frames + text);
                break;
            case ModelFamily::mmdit:
                add_block(4, tokens);
                break;
        }
    }
    double const ends = 2 * c * shape.patch_volume();
    double const from_input = 2.0 / 3 * 2 * c * text * shape.caption_channels;
    double const vectors = joint ? 2 * c * (2 * c + 256 + shape.pooled_channels)
                                 : 2 * c * (4 * c + 512) + 2 * c * 6 * c;
    parts.first = 2.0 / 3 * image * ends * shape.in_channels + from_input +
                  (joint ? 0 : 2 * c * c * text) + vectors;
    parts.last = image * ends * shape.out_channels() + (joint ? 4 * c * c : 0);
    return parts;
}

double activation_share(ModelShape const& shape, int tp_size) {
    // Inputs of qkv, the query of cross attention and fc1; in MMDiT of qkv and the MLP.
    double const read = shape.family == ModelFamily::mmdit    ? 2
                        : shape.family == ModelFamily::stdit2 ? 4
                                                              : 3;
    double const whole = read / kept_values(shape, {});
    return whole + (1 - whole) / tp_size;
}

double condition_values(ModelShape const& shape, int samples) {
    // Rows of hidden values: t, and what t_block and t_block_temp make of it; MMDiT: the vector.
    int const times = shape.family == ModelFamily::mmdit    ? 1
                      : shape.family == ModelFamily::stdit2 ? 1 + 6 + 3
                                                            : 1 + 6;
    int const text = shape.family == ModelFamily::mmdit ? 0 : shape.text_tokens;
    return static_cast<double>(samples) * (text + times) * shape.hidden;
}

double recomputed_share(ModelShape const& shape, SampleCost const& cost,
                        std::string_view recompute) {
    RecomputeChoice const choice = checked_recompute(recompute);
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

double attention_flops(ModelShape const& shape, SampleCost const& cost) {
    double const c = shape.hidden, text = shape.text_tokens;
    auto const tokens = static_cast<double>(cost.tokens());
    if (shape.family == ModelFamily::mmdit) {
        return shape.blocks() * 4 * c * (tokens + text) * (tokens + text);
    }
    double const self = static_cast<double>(cost.tokens_per_frame + cost.frames);
    double const cross = text * (shape.family == ModelFamily::stdit3 ? 2 : 1);
    return shape.depth * tokens * 4 * c * (self + cross);
}

double training_flops(ModelShape const& shape, SampleCost const& cost, double frozen_share) {
    double const linear = cost.forward_flops - attention_flops(shape, cost);
    return kTrainingFactor * cost.forward_flops - frozen_share * linear;
}

double adapter_flops(ModelShape const& shape, SampleCost const& cost, int lora_rank) {
    if (lora_rank <= 0) return 0;
    auto const image = static_cast<double>(cost.tokens()), text = double(shape.text_tokens);
    bool const joint = shape.family == ModelFamily::mmdit;
    auto const blocks = blocks_of(shape, std::vector<std::string>());
    double numbers = 0;  // of adapters of rank 1, once for each token that they read
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        auto const all = static_cast<double>(blocks[i].adapters);
        double const keys = 3.0 * shape.hidden;  // hidden -> keys and values, 2 hidden
        bool const two_streams = joint && i < static_cast<std::size_t>(shape.depth);
        if (joint)
            numbers += (image + text) * (two_streams ? all / 2 : all);
        else
            numbers += image * (all - keys) + text * keys;
    }
    return 2.0 * lora_rank * numbers;
}

double head_padding(ModelShape const& shape) {
    constexpr double kHeadStep = 64;
    double const width = shape.head_dim();
    return std::ceil(width / kHeadStep) * kHeadStep / width;
}

std::int64_t operators_per_pass(ModelShape const& shape) {
    // For an STDiT3 block in worker/model: 45 operators forward including views, twice that
    // backward.
    constexpr std::int64_t kBlock = 3 * 45;
    constexpr std::int64_t kEnds = 3 * 60;  // embedders, final layer, loss
    return shape.blocks() * kBlock + kEnds;
}

}  // namespace osora::plan
