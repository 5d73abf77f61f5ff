#include "worker/text/t5_encoder.hpp"

#include "base/check.hpp"
#include "worker/text/padding_bias.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <cmath>

namespace osora::worker {

at::Tensor t5_position_buckets(at::Tensor const& distance, std::int64_t num_buckets,
                               std::int64_t max_distance) {
    // The same operators in the same order as Hugging Face: a distance of exactly 2^n is on the
    // border of two buckets.
    std::int64_t const side = num_buckets / 2;
    std::int64_t const exact = side / 2;
    at::Tensor const away = at::abs(distance);
    double const range = std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
    at::Tensor const octaves = at::log(away.to(at::kFloat) / exact) / range * (side - exact);
    at::Tensor const wide = (octaves.to(at::kLong) + exact).clamp_max(side - 1);
    return at::where(away < exact, away, wide) + (distance > 0).to(at::kLong) * side;
}

T5Encoder::Block::Block(Parameters& parameters, std::string const& name, T5Config const& config) {
    auto const frozen = [&](std::string const& part, at::IntArrayRef shape) {
        return parameters.add(name + part + ".weight", shape, TensorKind::frozen);
    };
    std::int64_t const inner = config.num_heads * config.d_kv;
    attention_norm = frozen(".layer.0.layer_norm", {config.d_model});
    q = frozen(".layer.0.SelfAttention.q", {inner, config.d_model});
    k = frozen(".layer.0.SelfAttention.k", {inner, config.d_model});
    v = frozen(".layer.0.SelfAttention.v", {inner, config.d_model});
    o = frozen(".layer.0.SelfAttention.o", {config.d_model, inner});
    mlp_norm = frozen(".layer.1.layer_norm", {config.d_model});
    wi_0 = frozen(".layer.1.DenseReluDense.wi_0", {config.d_ff, config.d_model});
    wi_1 = frozen(".layer.1.DenseReluDense.wi_1", {config.d_ff, config.d_model});
    wo = frozen(".layer.1.DenseReluDense.wo", {config.d_model, config.d_ff});
}

T5Encoder::T5Encoder(T5Config const& config, at::TensorOptions const& options)
    : config_(config), parameters_(options) {
    embedding_ =
        parameters_.add("shared.weight", {config.vocab_size, config.d_model}, TensorKind::frozen);
    position_bias_ = parameters_.add(
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        {config.relative_attention_num_buckets, config.num_heads}, TensorKind::frozen);
    for (std::int64_t i = 0; i < config.num_layers; ++i) {
        blocks_.emplace_back(parameters_, fmt::format("encoder.block.{}", i), config);
    }
    final_norm_ =
        parameters_.add("encoder.final_layer_norm.weight", {config.d_model}, TensorKind::frozen);
}

at::Tensor T5Encoder::normalised(at::Tensor const& x, at::Tensor const& weight) const {
    at::Tensor const square = x.to(at::kFloat).square().mean(-1, true);
    at::Tensor const scaled = at::mul(x, at::rsqrt(at::add(square, config_.layer_norm_epsilon)));
    return at::mul(scaled.to(weight.scalar_type()), weight);
}

at::Tensor T5Encoder::attention(Block const& block, at::Tensor const& x,
                                at::Tensor const& bias) const {
    auto const heads = [&](at::Tensor const& weight) {
        return at::linear(x, weight)
            .view({x.size(0), x.size(1), config_.num_heads, config_.d_kv})
            .transpose(1, 2);
    };
    // T5 does not divide the scores by sqrt(d_kv).
    at::Tensor const mixed = at::scaled_dot_product_attention(
        heads(block.q), heads(block.k), heads(block.v), bias, 0.0, false, 1.0);
    return at::linear(
        mixed.transpose(1, 2).reshape({x.size(0), x.size(1), config_.num_heads * config_.d_kv}),
        block.o);
}

at::Tensor T5Encoder::position_bias(std::int64_t length) const {
    at::Tensor const places = at::arange(length, at::kLong);
    at::Tensor const buckets = t5_position_buckets(places.unsqueeze(0) - places.unsqueeze(1),
                                                   config_.relative_attention_num_buckets,
                                                   config_.relative_attention_max_distance);
    return at::embedding(position_bias_, buckets.to(position_bias_.device()))
        .permute({2, 0, 1})
        .unsqueeze(0);
}

at::Tensor T5Encoder::operator()(at::Tensor const& ids, at::Tensor const& mask) const {
    OSORA_CHECK_EQ(ids.dim(), 2);
    at::NoGradGuard const no_grad;
    at::Tensor bias = position_bias(ids.size(1));
    if (mask.defined()) {
        OSORA_CHECK(mask.sizes() == ids.sizes(), "one mask value a token");
        bias = bias + padding_bias(mask, bias.options());  // (B, heads, L, L)
    }
    at::Tensor x = at::embedding(embedding_, ids.to(embedding_.device()));
    for (Block const& block : blocks_) {
        x = x + attention(block, normalised(x, block.attention_norm), bias);
        at::Tensor const rows = normalised(x, block.mlp_norm);
        at::Tensor const gate = at::gelu(at::linear(rows, block.wi_0), "tanh");
        x = x + at::linear(gate * at::linear(rows, block.wi_1), block.wo);
    }
    return normalised(x, final_norm_);
}

}  // namespace osora::worker
