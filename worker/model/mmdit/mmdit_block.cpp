#include "worker/model/mmdit/mmdit_block.hpp"

#include "worker/memory/saved_kind.hpp"
#include "worker/model/modulation.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>

namespace osora::worker {
namespace {

using Tensors = std::vector<at::Tensor>;

at::Tensor rms_norm(at::Tensor const& x, at::Tensor const& scale) {
    if (auto const fused = fused_head_norms(x.unsqueeze(2), scale.unsqueeze(0), {}))
        return fused->front();
    at::Tensor const fp32 = x.to(at::kFloat);
    at::Tensor const inverse = at::rsqrt(fp32.square().mean(-1, true).add(1e-6));
    at::Tensor const unit = remade(at::mul(fp32, inverse), {fp32, inverse},
                                   [](auto const& from) { return at::mul(from[0], from[1]); });
    return at::mul(unit.to(x.scalar_type()), scale);
}

/// (B, tokens, n hidden) -> n of (B, tokens, heads, head_dim).
std::vector<at::Tensor> split_heads(at::Tensor const& x, std::int64_t parts, std::int64_t heads) {
    return x.view({x.size(0), x.size(1), parts, heads, -1}).unbind(2);
}

Heads normalised(Heads const& heads, QkNorm const& norm) {
    return {rms_norm(heads.q, norm.query_scale), rms_norm(heads.k, norm.key_scale), heads.v};
}

at::Tensor plain_attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) {
    SavedKindScope const scores(SavedKind::scores);
    return at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        .transpose(1, 2);
}

/// What is the same when a part of a block runs again.
MmditConditioning without_gradients(MmditConditioning const& with) {
    return {at::Tensor(), with.rope, with.shared, with.linears};
}

/// (B, tokens, heads head_dim): softmax over all tokens, after the rotation of q and k.
at::Tensor attend(Heads const& heads, MmditConditioning const& with) {
    return attention_over(with.shared, rotate_axes(heads.q, with.rope),
                          rotate_axes(heads.k, with.rope), heads.v, plain_attention)
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

void add_parameters(ParameterList& list, QkNorm const& norm) {
    list.add(norm.query_scale).add(norm.key_scale);
}

std::vector<Linear> qkv_of(Parameters& parameters, std::string const& name,
                           MmditConfig const& config) {
    std::int64_t const hidden = config.hidden_size;
    if (config.fused_qkv)
        return {Linear(parameters, name + ".qkv", hidden, 3 * hidden,
                       by_outputs({hidden, hidden, hidden}, config.qkv_bias))};
    std::vector<Linear> each;
    for (char const* part : {".q_proj", ".k_proj", ".v_proj"})
        each.emplace_back(parameters, name + part, hidden, hidden,
                          by_outputs({hidden}, config.qkv_bias));
    return each;
}

std::vector<Linear> single_inputs(Parameters& parameters, std::string const& name,
                                  MmditConfig const& config) {
    std::int64_t const hidden = config.hidden_size;
    std::int64_t const mlp = config.mlp_hidden_size();
    if (config.fused_qkv)
        return {Linear(parameters, name + ".linear1", hidden, 3 * hidden + mlp,
                       by_outputs({hidden, hidden, hidden, mlp}))};
    std::vector<Linear> each;
    each.emplace_back(parameters, name + ".q_proj", hidden, hidden, by_outputs({hidden}));
    each.emplace_back(parameters, name + ".k_proj", hidden, hidden, by_outputs({hidden}));
    each.emplace_back(parameters, name + ".v_mlp", hidden, hidden + mlp, by_outputs({hidden, mlp}));
    return each;
}

}  // namespace

QkNorm::QkNorm(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : query_scale(parameters.add(name + ".query_norm.scale", {config.head_dim()})),
      key_scale(parameters.add(name + ".key_norm.scale", {config.head_dim()})) {}

Stream::Stream(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : num_heads(config.num_heads / parameters.share().ranks),
      mod(parameters, name + "_mod.lin", config.hidden_size, 6 * config.hidden_size),
      qkv(qkv_of(parameters, name + "_attn", config)),
      norm(parameters, name + "_attn.norm", config),
      proj(parameters, name + "_attn.proj", config.hidden_size, config.hidden_size,
           by_inputs({config.hidden_size})),
      mlp_in(parameters, name + "_mlp.0", config.hidden_size, config.mlp_hidden_size(),
             by_outputs({config.mlp_hidden_size()})),
      mlp_out(parameters, name + "_mlp.2", config.mlp_hidden_size(), config.hidden_size,
              by_inputs({config.mlp_hidden_size()})) {}

std::vector<at::Tensor> Stream::modulation(at::Tensor const& silu_vec) const {
    return modulation_rows(mod, silu_vec, 6);
}

Heads Stream::heads(at::Tensor const& x, std::vector<at::Tensor> const& rows,
                    SharedTokens const& over) const {
    at::Tensor const input = gathered_tokens(over, modulated(x, rows[0], rows[1]), 1);
    if (qkv.size() == 1) {
        auto const parts = split_heads(qkv[0].over(input), 3, num_heads);
        return {parts[0], parts[1], parts[2]};
    }
    auto const one = [&](std::size_t i) {
        return split_heads(qkv[i].over(input), 1, num_heads).front();
    };
    return {one(0), one(1), one(2)};
}

at::Tensor Stream::updated(at::Tensor const& x, at::Tensor const& attended,
                           std::vector<at::Tensor> const& rows, SharedTokens const& over) const {
    at::Tensor const mixed = gated(x, rows[2], proj.summed(over, proj.over(attended), 1));
    at::Tensor const read = gathered_tokens(over, modulated(mixed, rows[3], rows[4]), 1);
    at::Tensor const fed = mlp_out.over(gelu_tanh(mlp_in.over(read)));
    return gated(mixed, rows[5], mlp_out.summed(over, fed, 1));
}

DoubleBlock::DoubleBlock(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : img(parameters, name + ".img", config), txt(parameters, name + ".txt", config) {}

Tensors DoubleBlock::plain(Tensors const& from, MmditConditioning const& rest,
                           BlockRecompute const& recompute) const {
    at::Tensor const& img_tokens = from[0];
    at::Tensor const& txt_tokens = from[1];
    // Gradients of the inputs are added in this order, those of a graph from its end on.
    auto const img_rows = img.modulation(from[3]);
    auto const txt_rows = txt.modulation(from[2]);
    auto const attention = [this, rest](Tensors const& each) {
        Heads const of_img = normalised({each[0], each[1], each[2]}, img.norm);
        Heads const of_txt = normalised({each[3], each[4], each[5]}, txt.norm);
        Heads const joint{at::cat({of_txt.q, of_img.q}, 1), at::cat({of_txt.k, of_img.k}, 1),
                          at::cat({of_txt.v, of_img.v}, 1)};
        return Tensors{attend(joint, rest)};
    };
    Heads const a = img.heads(img_tokens, img_rows, rest.image());
    Heads const b = txt.heads(txt_tokens, txt_rows, rest.text());
    ParameterList norms;
    for (Stream const* stream : {&img, &txt}) add_parameters(norms, stream->norm);
    auto const parts =
        recompute.attention(attention, {a.q, a.k, a.v, b.q, b.k, b.v}, norms.tensors())[0]
            .split_with_sizes({b.q.size(1), a.q.size(1)}, 1);
    SavedKindScope const kind(SavedKind::mlp);
    return {img.updated(img_tokens, parts[1], img_rows, rest.image()),
            txt.updated(txt_tokens, parts[0], txt_rows, rest.text())};
}

std::pair<at::Tensor, at::Tensor> DoubleBlock::operator()(at::Tensor const& img_tokens,
                                                          at::Tensor const& txt_tokens,
                                                          MmditConditioning const& with,
                                                          BlockRecompute const& recompute) const {
    auto const part = [this, rest = without_gradients(with), recompute](Tensors const& from) {
        return plain(from, rest, recompute);
    };
    ParameterList parameters;
    for (Stream const* stream : {&img, &txt}) {
        parameters.add(stream->mod).add(stream->proj).add(stream->mlp_in).add(stream->mlp_out);
        for (Linear const& linear : stream->qkv) parameters.add(linear);
        add_parameters(parameters, stream->norm);
    }
    auto const out = recompute.whole(part, {img_tokens, txt_tokens, with.silu_vec, with.silu_vec},
                                     parameters.tensors());
    return {out[0], out[1]};
}

SingleBlock::SingleBlock(Parameters& parameters, std::string const& name, MmditConfig const& config)
    : hidden(config.hidden_size / parameters.share().ranks),
      mlp_hidden(config.mlp_hidden_size() / parameters.share().ranks),
      num_heads(config.num_heads / parameters.share().ranks),
      inputs(single_inputs(parameters, name, config)),
      linear2(parameters, name + ".linear2", config.hidden_size + config.mlp_hidden_size(),
              config.hidden_size, by_inputs({config.hidden_size, config.mlp_hidden_size()})),
      norm(parameters, name + ".norm", config),
      modulation(parameters, name + ".modulation.lin", config.hidden_size, 3 * config.hidden_size) {
}

std::vector<at::Tensor> SingleBlock::projected(at::Tensor const& x) const {
    if (inputs.size() == 1)
        return inputs[0].over(x).split_with_sizes({hidden, hidden, hidden, mlp_hidden}, -1);
    auto const rest = inputs[2].over(x).split_with_sizes({hidden, mlp_hidden}, -1);
    return {inputs[0].over(x), inputs[1].over(x), rest[0], rest[1]};
}

at::Tensor SingleBlock::plain(at::Tensor const& x, MmditConditioning const& with,
                              BlockRecompute const& recompute) const {
    auto const rows = modulation_rows(modulation, with.silu_vec, 3);
    auto const parts = projected(gathered_tokens(with.linears, modulated(x, rows[0], rows[1]), 1));
    auto const attention = [this, rest = without_gradients(with)](Tensors const& from) {
        auto const one = [&](at::Tensor const& each) {
            return split_heads(each, 1, num_heads).front();
        };
        return Tensors{attend(normalised({one(from[0]), one(from[1]), one(from[2])}, norm), rest)};
    };
    ParameterList norms;
    add_parameters(norms, norm);
    at::Tensor const attended =
        recompute.attention(attention, {parts[0], parts[1], parts[2]}, norms.tensors())[0];
    SavedKindScope const kind(SavedKind::mlp);
    at::Tensor const both = remade(at::cat({attended, at::gelu(parts[3], "tanh")}, -1),
                                   {attended, parts[3]}, [](auto const& from) {
                                       return at::cat({from[0], at::gelu(from[1], "tanh")}, -1);
                                   });
    at::Tensor const made = linear2.summed(with.linears, linear2.over(both), 1);
    return gated(x, rows[2], made);
}

at::Tensor SingleBlock::operator()(at::Tensor const& x, MmditConditioning const& with,
                                   BlockRecompute const& recompute) const {
    auto const part = [this, rest = without_gradients(with), recompute](Tensors const& from) {
        return Tensors{plain(from[0], {from[1], rest.rope, rest.shared, rest.linears}, recompute)};
    };
    ParameterList parameters;
    parameters.add(linear2).add(modulation);
    for (Linear const& linear : inputs) parameters.add(linear);
    add_parameters(parameters, norm);
    return recompute.whole(part, {x, with.silu_vec}, parameters.tensors())[0];
}

}  // namespace osora::worker
