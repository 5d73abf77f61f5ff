#include "worker/model/mmdit_block.hpp"

#include "worker/model/modulation.hpp"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>

namespace osora::worker {
namespace {

at::Tensor rms_norm(at::Tensor const& x, at::Tensor const& scale) {
    at::Tensor const fp32 = x.to(at::kFloat);
    at::Tensor const inverse = at::rsqrt(fp32.square().mean(-1, true).add(1e-6));
    return at::mul(at::mul(fp32, inverse).to(x.scalar_type()), scale);
}

/// (B, tokens, n hidden) -> n of (B, tokens, heads, head_dim).
std::vector<at::Tensor> split_heads(at::Tensor const& x, std::int64_t parts, std::int64_t heads) {
    return x.view({x.size(0), x.size(1), parts, heads, -1}).unbind(2);
}

Heads normalised(Heads const& heads, QkNorm const& norm) {
    return {rms_norm(heads.q, norm.query_scale), rms_norm(heads.k, norm.key_scale), heads.v};
}

/// (B, tokens, heads head_dim): softmax over all tokens, after the rotation of q and k.
at::Tensor attend(Heads const& heads, AxesRope const& rope) {
    at::Tensor const q = rotate_axes(heads.q, rope).transpose(1, 2);
    at::Tensor const k = rotate_axes(heads.k, rope).transpose(1, 2);
    return at::scaled_dot_product_attention(q, k, heads.v.transpose(1, 2))
        .transpose(1, 2)
        .flatten(2);
}

std::vector<at::Tensor> modulation_rows(Linear const& linear, at::Tensor const& silu_vec,
                                        std::int64_t count) {
    auto rows = linear(silu_vec).view({silu_vec.size(0), count, 1, -1}).unbind(1);
    for (std::int64_t scale = 1; scale < count; scale += 3) {
        auto& row = rows[static_cast<std::size_t>(scale)];
        row = row.add(1);
    }
    return rows;
}

std::vector<Linear> qkv_of(Parameters& parameters, std::string const& name,
                           MmditConfig const& config) {
    std::int64_t const hidden = config.hidden_size;
    if (config.fused_qkv)
        return {Linear(parameters, name + ".qkv", hidden, 3 * hidden, config.qkv_bias)};
    std::vector<Linear> each;
    for (char const* part : {".q_proj", ".k_proj", ".v_proj"})
        each.emplace_back(parameters, name + part, hidden, hidden, config.qkv_bias);
    return each;
}

std::vector<Linear> single_inputs(Parameters& parameters, std::string const& name,
                                  MmditConfig const& config) {
    std::int64_t const hidden = config.hidden_size;
    std::int64_t const mlp = config.mlp_hidden_size();
    if (config.fused_qkv) return {Linear(parameters, name + ".linear1", hidden, 3 * hidden + mlp)};
    std::vector<Linear> each;
    each.emplace_back(parameters, name + ".q_proj", hidden, hidden);
    each.emplace_back(parameters, name + ".k_proj", hidden, hidden);
    each.emplace_back(parameters, name + ".v_mlp", hidden, hidden + mlp);
    return each;
}

}  // namespace

QkNorm::QkNorm(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : query_scale(parameters.add(name + ".query_norm.scale", {config.head_dim()})),
      key_scale(parameters.add(name + ".key_norm.scale", {config.head_dim()})) {}

Stream::Stream(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : num_heads(config.num_heads),
      mod(parameters, name + "_mod.lin", config.hidden_size, 6 * config.hidden_size),
      qkv(qkv_of(parameters, name + "_attn", config)),
      norm(parameters, name + "_attn.norm", config),
      proj(parameters, name + "_attn.proj", config.hidden_size, config.hidden_size),
      mlp_in(parameters, name + "_mlp.0", config.hidden_size, config.mlp_hidden_size()),
      mlp_out(parameters, name + "_mlp.2", config.mlp_hidden_size(), config.hidden_size) {}

std::vector<at::Tensor> Stream::modulation(at::Tensor const& silu_vec) const {
    return modulation_rows(mod, silu_vec, 6);
}

Heads Stream::heads(at::Tensor const& x, std::vector<at::Tensor> const& rows) const {
    at::Tensor const input = modulated(x, rows[0], rows[1]);
    if (qkv.size() == 1) {
        auto const parts = split_heads(qkv[0].over(input), 3, num_heads);
        return normalised({parts[0], parts[1], parts[2]}, norm);
    }
    auto const one = [&](std::size_t i) {
        return split_heads(qkv[i].over(input), 1, num_heads).front();
    };
    return normalised({one(0), one(1), one(2)}, norm);
}

at::Tensor Stream::updated(at::Tensor const& x, at::Tensor const& attended,
                           std::vector<at::Tensor> const& rows) const {
    at::Tensor const mixed = at::addcmul(x, rows[2], proj.over(attended));
    at::Tensor const fed =
        mlp_out.over(at::gelu(mlp_in.over(modulated(mixed, rows[3], rows[4])), "tanh"));
    return at::addcmul(mixed, rows[5], fed);
}

DoubleBlock::DoubleBlock(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : img(parameters, name + ".img", config), txt(parameters, name + ".txt", config) {}

std::pair<at::Tensor, at::Tensor> DoubleBlock::operator()(at::Tensor const& img_tokens,
                                                          at::Tensor const& txt_tokens,
                                                          MmditConditioning const& with) const {
    auto const img_rows = img.modulation(with.silu_vec);
    auto const txt_rows = txt.modulation(with.silu_vec);
    Heads const of_img = img.heads(img_tokens, img_rows);
    Heads const of_txt = txt.heads(txt_tokens, txt_rows);
    Heads const joint{at::cat({of_txt.q, of_img.q}, 1), at::cat({of_txt.k, of_img.k}, 1),
                      at::cat({of_txt.v, of_img.v}, 1)};
    auto const parts =
        attend(joint, with.rope).split_with_sizes({txt_tokens.size(1), img_tokens.size(1)}, 1);
    return {img.updated(img_tokens, parts[1], img_rows),
            txt.updated(txt_tokens, parts[0], txt_rows)};
}

SingleBlock::SingleBlock(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : hidden(config.hidden_size),
      mlp_hidden(config.mlp_hidden_size()),
      num_heads(config.num_heads),
      inputs(single_inputs(parameters, name, config)),
      linear2(parameters, name + ".linear2", hidden + mlp_hidden, hidden),
      norm(parameters, name + ".norm", config),
      modulation(parameters, name + ".modulation.lin", hidden, 3 * hidden) {}

std::vector<at::Tensor> SingleBlock::projected(at::Tensor const& x) const {
    if (inputs.size() == 1)
        return inputs[0].over(x).split_with_sizes({hidden, hidden, hidden, mlp_hidden}, -1);
    auto const rest = inputs[2].over(x).split_with_sizes({hidden, mlp_hidden}, -1);
    return {inputs[0].over(x), inputs[1].over(x), rest[0], rest[1]};
}

at::Tensor SingleBlock::operator()(at::Tensor const& x, MmditConditioning const& with) const {
    auto const rows = modulation_rows(modulation, with.silu_vec, 3);
    auto const parts = projected(modulated(x, rows[0], rows[1]));
    auto const one = [&](at::Tensor const& part) {
        return split_heads(part, 1, num_heads).front();
    };
    Heads const heads = normalised({one(parts[0]), one(parts[1]), one(parts[2])}, norm);
    at::Tensor const both = at::cat({attend(heads, with.rope), at::gelu(parts[3], "tanh")}, -1);
    return at::addcmul(x, rows[2], linear2.over(both));
}

}  // namespace osora::worker
