// Sizes of the named architectures and their parameter counts, part by part as in their sources:
// hpcaitech/Open-Sora v1.2 stdit3.py, v1.1 stdit2.py, v2.0 mmdit/model.py.
#include "plan/model/model_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace osora::plan {
namespace {

constexpr VaeShape kOpenSoraVae{.temporal = 4, .spatial = 8, .chunk_frames = 17};

ModelShape stdit3_tiny() {
    return {.arch = "stdit3-tiny",
            .in_channels = 3,
            .patch_size = {1, 4, 4},
            .hidden = 96,
            .depth = 2,
            .heads = 4,
            .caption_channels = 32,
            .text_tokens = 8,
            .input_sq_size = 64,
            .pred_sigma = false,
            .vae = {}};
}

ModelShape stdit2_tiny() {
    ModelShape shape = stdit3_tiny();
    shape.arch = "stdit2-tiny";
    shape.family = ModelFamily::stdit2;
    return shape;
}

ModelShape mmdit_tiny() {
    return {.arch = "mmdit-tiny",
            .family = ModelFamily::mmdit,
            .in_channels = 3,
            .patch_size = {1, 4, 4},
            .hidden = 96,
            .depth = 2,
            .single_depth = 2,
            .heads = 4,
            .caption_channels = 32,
            .pooled_channels = 24,
            .text_tokens = 8,
            .pred_sigma = false,
            .vae = {}};
}

std::vector<ModelShape> registry() {
    ModelShape const xl{.arch = "stdit3-xl/2", .vae = kOpenSoraVae};
    ModelShape three_billion = xl;
    three_billion.arch = "stdit3-3b/2";
    three_billion.hidden = 1872;
    three_billion.heads = 26;
    ModelShape stdit2 = xl;
    stdit2.arch = "stdit2-xl/2";
    stdit2.family = ModelFamily::stdit2;
    stdit2.text_tokens = 200;
    stdit2.vae = {.temporal = 1, .spatial = 8, .chunk_frames = 0};
    ModelShape const mmdit{.arch = "mmdit-11b",
                           .family = ModelFamily::mmdit,
                           .in_channels = 16,
                           .hidden = 3072,
                           .depth = 19,
                           .single_depth = 38,
                           .heads = 24,
                           .pooled_channels = 768,  // CLIP-L
                           .text_tokens = 512,
                           .pred_sigma = false,
                           .vae = {.temporal = 4, .spatial = 8, .chunk_frames = 0}};
    return {stdit3_tiny(), xl, three_billion, stdit2_tiny(), stdit2, mmdit_tiny(), mmdit};
}

/// Counts tensors and parameters as layers are added.
struct Counter {
    ParameterCount count;

    Counter& tensor(std::int64_t parameters, std::int64_t times = 1) {
        count.tensors += times;
        count.parameters += times * parameters;
        return *this;
    }
    /// Weight and bias of a linear layer.
    Counter& linear(std::int64_t out, std::int64_t in, std::int64_t times = 1) {
        return tensor(out * in, times).tensor(out, times);
    }
    /// Sinusoid of 256 values -> hidden -> hidden.
    Counter& scalar_embedder(std::int64_t hidden, std::int64_t times = 1) {
        return linear(hidden, 256, times).linear(hidden, hidden, times);
    }
    Counter& parts(ParameterCount const& part, std::int64_t times) {
        count.tensors += times * part.tensors;
        count.parameters += times * part.parameters;
        return *this;
    }
};

ParameterCount stdit_block(ModelShape const& shape) {
    std::int64_t const c = shape.hidden;
    int const attentions = shape.family == ModelFamily::stdit2 ? 2 : 1;  // of this block
    Counter block;
    block.tensor(6 * c);  // scale_shift_table
    if (attentions == 2) block.tensor(3 * c);
    block.linear(3 * c, c, attentions).linear(c, c, attentions);  // attn.qkv, attn.proj
    block.tensor(shape.head_dim(), 2 * attentions);               // q_norm, k_norm
    block.linear(c, c).linear(2 * c, c).linear(c, c);             // cross_attn
    block.linear(shape.mlp_hidden(), c).linear(c, shape.mlp_hidden());
    return block.count;
}

ParameterCount stdit_total(ModelShape const& shape) {
    std::int64_t const c = shape.hidden;
    bool const stdit2 = shape.family == ModelFamily::stdit2;
    Counter model;
    model.linear(c, std::int64_t{shape.in_channels} * shape.patch_volume());  // x_embedder
    model.scalar_embedder(c, 2);                                              // t, fps
    model.linear(6 * c, c);                                                   // t_block
    model.linear(c, shape.caption_channels).linear(c, c);                     // y_embedder
    model.tensor(shape.head_dim() / 2);                                       // rope.freqs
    if (stdit2) {
        // t_block_temp; size and aspect-ratio embedders of a third, frame-count embedder
        model.linear(3 * c, c).scalar_embedder(c / 3, 2).scalar_embedder(c);
    }
    model.parts(stdit_block(shape), shape.blocks());
    std::int64_t const out = std::int64_t{shape.patch_volume()} * shape.out_channels();
    return model.tensor(2 * c).linear(out, c).count;  // final_layer
}

ParameterCount mmdit_double_block(ModelShape const& shape) {
    std::int64_t const c = shape.hidden;
    Counter block;
    block.linear(6 * c, c, 2).linear(c, c, 2 * 4);  // mod; q, k, v, proj; image and text streams
    block.tensor(shape.head_dim(), 2 * 2);
    block.linear(shape.mlp_hidden(), c, 2).linear(c, shape.mlp_hidden(), 2);
    return block.count;
}

ParameterCount mmdit_total(ModelShape const& shape) {
    std::int64_t const c = shape.hidden;
    std::int64_t const channels = std::int64_t{shape.in_channels} * shape.patch_volume();
    Counter single;
    single.linear(c, c, 2).linear(c + shape.mlp_hidden(), c);  // q, k, v_mlp
    single.linear(c, c + shape.mlp_hidden()).tensor(shape.head_dim(), 2).linear(3 * c, c);
    Counter model;
    model.linear(c, channels).scalar_embedder(c).linear(c, shape.pooled_channels).linear(c, c);
    model.linear(c, shape.caption_channels);
    model.parts(mmdit_double_block(shape), shape.depth).parts(single.count, shape.single_depth);
    return model.linear(channels, c).linear(2 * c, c).count;
}

}  // namespace

std::array<int, 3> ModelShape::rope_axes() const {
    int frame = (head_dim() + 15) / 16 * 2;
    if ((head_dim() - frame) % 4 != 0) frame += 2;
    int const side = (head_dim() - frame) / 2;
    return {frame, side, side};
}

ParameterCount parameter_count(ModelShape const& shape) {
    return shape.family == ModelFamily::mmdit ? mmdit_total(shape) : stdit_total(shape);
}

ParameterCount block_parameters(ModelShape const& shape) {
    return shape.family == ModelFamily::mmdit ? mmdit_double_block(shape) : stdit_block(shape);
}

Result<ModelShape> model_shape(std::string_view arch) {
    for (ModelShape& shape : registry())
        if (shape.arch == arch) return std::move(shape);
    return Error{Errc::not_found, fmt::format("unknown architecture '{}'; known: {}", arch,
                                              fmt::join(model_names(), ", "))};
}

std::vector<std::string> model_names() {
    std::vector<std::string> names;
    for (ModelShape const& shape : registry()) names.push_back(shape.arch);
    return names;
}

}  // namespace osora::plan
