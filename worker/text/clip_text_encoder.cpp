#include "worker/text/clip_text_encoder.hpp"

#include "base/check.hpp"
#include "worker/model/weights/weight_files.hpp"
#include "worker/text/padding_bias.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sigmoid.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

namespace osora::worker {
namespace {

constexpr std::int64_t kOldEosTokenId = 2;

}  // namespace

ClipTextEncoder::ClipTextEncoder(ClipTextConfig const& config, at::TensorOptions const& options)
    : config_(config), parameters_(options) {
    std::int64_t const hidden = config.hidden_size;
    token_embedding_ = parameters_.add("text_model.embeddings.token_embedding.weight",
                                       {config.vocab_size, hidden}, TensorKind::frozen);
    position_embedding_ =
        parameters_.add("text_model.embeddings.position_embedding.weight",
                        {config.max_position_embeddings, hidden}, TensorKind::frozen);
    for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) {
        layers_.push_back(layer(fmt::format("text_model.encoder.layers.{}", i)));
    }
    final_norm_ = affine("text_model.final_layer_norm", {hidden});
}

ClipTextEncoder::Affine ClipTextEncoder::affine(std::string const& name,
                                                at::IntArrayRef weight_shape) {
    return {.weight = parameters_.add(name + ".weight", weight_shape, TensorKind::frozen),
            .bias = parameters_.add(name + ".bias", {weight_shape[0]}, TensorKind::frozen)};
}

ClipTextEncoder::Layer ClipTextEncoder::layer(std::string const& name) {
    std::int64_t const hidden = config_.hidden_size;
    std::int64_t const inner = config_.intermediate_size;
    return {.attention_norm = affine(name + ".layer_norm1", {hidden}),
            .q = affine(name + ".self_attn.q_proj", {hidden, hidden}),
            .k = affine(name + ".self_attn.k_proj", {hidden, hidden}),
            .v = affine(name + ".self_attn.v_proj", {hidden, hidden}),
            .out = affine(name + ".self_attn.out_proj", {hidden, hidden}),
            .mlp_norm = affine(name + ".layer_norm2", {hidden}),
            .fc1 = affine(name + ".mlp.fc1", {inner, hidden}),
            .fc2 = affine(name + ".mlp.fc2", {hidden, inner})};
}

at::Tensor ClipTextEncoder::normalised(at::Tensor const& x, Affine const& norm) const {
    return at::layer_norm(x, {config_.hidden_size}, norm.weight, norm.bias, config_.layer_norm_eps);
}

at::Tensor ClipTextEncoder::attention(Layer const& layer, at::Tensor const& x,
                                      at::Tensor const& bias) const {
    auto const heads = [&](Affine const& projection) {
        return at::linear(x, projection.weight, projection.bias)
            .view({x.size(0), x.size(1), config_.num_attention_heads, config_.head_dim()})
            .transpose(1, 2);
    };
    at::Tensor const mixed =
        at::scaled_dot_product_attention(heads(layer.q), heads(layer.k), heads(layer.v), bias);
    return at::linear(mixed.transpose(1, 2).reshape(x.sizes()), layer.out.weight, layer.out.bias);
}

at::Tensor ClipTextEncoder::mlp(Layer const& layer, at::Tensor const& x) const {
    at::Tensor const inner = at::linear(x, layer.fc1.weight, layer.fc1.bias);
    at::Tensor const active =
        config_.quick_gelu ? inner * at::sigmoid(inner * 1.702) : at::gelu(inner);
    return at::linear(active, layer.fc2.weight, layer.fc2.bias);
}

at::Tensor ClipTextEncoder::end_places(at::Tensor const& ids) const {
    if (config_.eos_token_id == kOldEosTokenId) return ids.argmax(-1);
    return (ids == config_.eos_token_id).to(at::kInt).argmax(-1);  // the first one
}

ClipText ClipTextEncoder::operator()(at::Tensor const& ids, at::Tensor const& mask) const {
    OSORA_CHECK_EQ(ids.dim(), 2);
    std::int64_t const length = ids.size(1);
    OSORA_CHECK_LE(length, config_.max_position_embeddings);
    at::NoGradGuard const no_grad;
    at::Tensor const tokens = ids.to(token_embedding_.device());
    at::Tensor x =
        at::embedding(token_embedding_, tokens) + position_embedding_.narrow(0, 0, length);
    // Causal: no token sees later ones.
    at::Tensor bias =
        at::full({length, length}, lowest_score(x.scalar_type()), x.options()).triu(1);
    if (mask.defined()) {
        OSORA_CHECK(mask.sizes() == ids.sizes(), "one mask value a token");
        bias = (bias + padding_bias(mask, x.options())).clamp_min(lowest_score(x.scalar_type()));
    }
    for (Layer const& layer : layers_) {
        x = x + attention(layer, normalised(x, layer.attention_norm), bias);
        x = x + mlp(layer, normalised(x, layer.mlp_norm));
    }
    ClipText text{.hidden = normalised(x, final_norm_), .pooled = {}};
    at::Tensor const rows = at::arange(x.size(0), tokens.options());
    text.pooled = text.hidden.index({rows, end_places(tokens)});
    return text;
}

std::vector<NamedTensor> clip_text_tensors(std::vector<NamedTensor> const& tensors) {
    std::vector<NamedTensor> own;
    for (NamedTensor const& tensor : tensors) {
        if (!tensor.name.starts_with("text_model.")) continue;
        if (tensor.name != "text_model.embeddings.position_ids") own.push_back(tensor);
    }
    return own;
}

Result<ClipTextEncoder> load_clip_text(std::filesystem::path const& folder,
                                       at::TensorOptions const& options) {
    OSORA_TRY(auto const text, read_model_config(folder));
    auto config = parse_clip_text_config(text);
    if (config.has_error()) return std::move(config).error().in((folder / "config.json").string());
    OSORA_TRY(auto const weights, load_network_weights(folder));
    ClipTextEncoder encoder(*config, options);
    auto loaded = encoder.parameters().load(clip_text_tensors(weights.tensors));
    if (loaded.has_error()) return std::move(loaded).error().in(folder.string());
    return encoder;
}

}  // namespace osora::worker
