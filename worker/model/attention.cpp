#include "worker/model/attention.hpp"

#include "worker/memory/saved_kind.hpp"
#include "worker/model/fused/fused_ops.hpp"
#include "worker/model/rope.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>

namespace osora::worker {
namespace {

/// (..., tokens, heads, head_dim) as SDPA requires: heads before tokens.
at::Tensor attend(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) {
    SavedKindScope const scores(SavedKind::scores);
    return at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        .transpose(1, 2);
}

}  // namespace

SelfAttention::SelfAttention(Parameters& parameters, std::string const& name,
                             Stdit3Config const& config, bool rotates_first)
    : heads(config.num_heads / parameters.share().ranks),
      head_dim(config.head_dim()),
      qkv(parameters, name + ".qkv", config.hidden_size, 3 * config.hidden_size,
          by_outputs({config.hidden_size, config.hidden_size, config.hidden_size})),
      q_norm(config.qk_norm ? parameters.add(name + ".q_norm.weight", {head_dim}) : at::Tensor()),
      k_norm(config.qk_norm ? parameters.add(name + ".k_norm.weight", {head_dim}) : at::Tensor()),
      proj(parameters, name + ".proj", config.hidden_size, config.hidden_size,
           by_inputs({config.hidden_size})),
      rotates_first(rotates_first) {}

at::Tensor SelfAttention::normalised(at::Tensor const& qk) const {
    if (!q_norm.defined()) return qk;
    at::Tensor const fp32 = qk.to(at::kFloat);
    at::Tensor const inverse = at::rsqrt(fp32.square().mean(-1, true).add(1e-6));
    at::Tensor const weight = at::stack({q_norm, k_norm}).unsqueeze(1);  // (2, 1, head_dim)
    at::Tensor const unit = remade(at::mul(fp32, inverse), {fp32, inverse},
                                   [](auto const& from) { return at::mul(from[0], from[1]); });
    return at::mul(unit.to(qk.scalar_type()), weight);
}

std::vector<at::Tensor> SelfAttention::attended(at::Tensor const& qk,
                                                at::Tensor const& rotations) const {
    bool const in_order = q_norm.defined() && (!rotates_first || !rotations.defined());
    if (in_order) {
        at::Tensor turns;
        if (rotations.defined())
            turns = at::view_as_real(rotations).reshape({rotations.size(0), -1, 2});
        if (auto const fused = fused_head_norms(qk, at::stack({q_norm, k_norm}), turns))
            return *fused;
    }
    auto const rotated = [&](at::Tensor const& x) {
        return rotations.defined() ? rotate_frames(x, rotations) : x;
    };
    return (rotates_first ? normalised(rotated(qk)) : rotated(normalised(qk))).unbind(2);
}

at::Tensor SelfAttention::values_alone(at::Tensor const& rows) const {
    std::int64_t const hidden = heads * head_dim;
    at::Tensor bias = qkv.bias.narrow(0, 2 * hidden, hidden);
    // Times 0: the norms get the gradient 0 that attention would give them, not none.
    if (q_norm.defined()) bias = at::add(bias, at::add(q_norm, k_norm).sum(), 0);
    return qkv.outputs(rows, 2 * hidden, hidden, bias);
}

at::Tensor SelfAttention::over(SharedTokens const& shared, at::Tensor const& x,
                               at::Tensor const& rotations) const {
    std::int64_t const groups = x.size(0);
    std::int64_t const tokens = x.size(1);
    at::Tensor const rows = x.reshape({groups * tokens, x.size(2)});
    if (tokens == 1 && shared.ranks == nullptr) return proj(values_alone(rows)).view(x.sizes());
    // Splits and unbinds, not slices: their gradients are joined in one pass.
    auto const parts =
        qkv(rows).view({groups, tokens, 3, heads, head_dim}).split_with_sizes({2, 1}, 2);
    auto const q_and_k = attended(parts[0], rotations);
    at::Tensor const mixed =
        attention_over(shared, q_and_k[0], q_and_k[1], parts[1].squeeze(2), attend);
    return proj(mixed.reshape({rows.size(0), -1})).view(x.sizes());
}

at::Tensor within_frames(SelfAttention const& attention, SharedTokens const& shared,
                         at::Tensor const& x) {
    return attention.over(shared, x.view({-1, x.size(2), x.size(3)}), {}).view(x.sizes());
}

at::Tensor across_frames(SelfAttention const& attention, at::Tensor const& x,
                         at::Tensor const& rotations) {
    std::int64_t const frames = x.size(1), per_frame = x.size(2), hidden = x.size(3);
    at::Tensor const groups = x.transpose(1, 2).reshape({-1, frames, hidden});
    return attention(groups, rotations).view({-1, per_frame, frames, hidden}).transpose(1, 2);
}

CrossAttention::CrossAttention(Parameters& parameters, std::string const& name,
                               Stdit3Config const& config)
    : heads(config.num_heads / parameters.share().ranks),
      head_dim(config.head_dim()),
      q_linear(parameters, name + ".q_linear", config.hidden_size, config.hidden_size,
               by_outputs({config.hidden_size})),
      kv_linear(parameters, name + ".kv_linear", config.hidden_size, 2 * config.hidden_size,
                by_outputs({config.hidden_size, config.hidden_size})),
      proj(parameters, name + ".proj", config.hidden_size, config.hidden_size,
           by_inputs({config.hidden_size})) {}

at::Tensor CrossAttention::operator()(at::Tensor const& rows, PackedText const& text) const {
    // Samples that share their captions are one long query; equal lengths are one batch; otherwise
    // the samples go one by one.
    auto const samples = static_cast<std::int64_t>(text.lengths.size());
    at::Tensor const q = q_linear(rows).view({samples, -1, heads, head_dim});
    at::Tensor const kv = kv_linear(text.tokens);  // (sum of lengths, 2 hidden)
    bool const equal = std::ranges::all_of(
        text.lengths, [&](std::int64_t length) { return length == text.lengths.front(); });
    if (equal) {
        auto const both = kv.view({samples, -1, 2, heads, head_dim}).unbind(2);
        return proj(attend(q, both[0], both[1]).reshape({rows.size(0), -1}));
    }
    auto const queries = q.split(1);
    auto const captions = kv.split_with_sizes(text.lengths);
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < captions.size(); ++i) {
        auto const both = captions[i].view({1, -1, 2, heads, head_dim}).unbind(2);
        parts.push_back(attend(queries[i], both[0], both[1]));
    }
    return proj(at::cat(parts).reshape({rows.size(0), -1}));
}

}  // namespace osora::worker
