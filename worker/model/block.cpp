#include "worker/model/block.hpp"

#include "worker/memory/saved_kind.hpp"
#include "worker/model/modulation.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace osora::worker {
namespace {

using Tensors = std::vector<at::Tensor>;

at::Tensor as_rows(at::Tensor const& x) {
    return x.reshape({-1, x.size(-1)});
}

}  // namespace

Conditioning Conditioning::without_gradients() const {
    Conditioning rest = *this;
    rest.modulation = rest.text.tokens = at::Tensor();
    return rest;
}

at::Tensor modulation_offset(at::TensorOptions const& options, std::int64_t rows) {
    at::Tensor offset = at::zeros({1, 1, rows, 1, 1}, options);
    for (std::int64_t scale = 1; scale < rows; scale += 3) offset.select(2, scale).fill_(1);
    return offset;
}

Block::Block(Parameters& parameters, std::string const& name, Stdit3Config const& config,
             bool temporal)
    : temporal(temporal),
      scale_shift_table(parameters.add(name + ".scale_shift_table", {6, config.hidden_size})),
      attn(parameters, name + ".attn", config),
      cross_attn(parameters, name + ".cross_attn", config),
      mlp(Mlp::shared(parameters, name + ".mlp", config.hidden_size, config.mlp_hidden_size(),
                      config.hidden_size)) {}

at::Tensor Block::with_attention(at::Tensor const& x, std::vector<at::Tensor> const& rows,
                                 Conditioning const& with) const {
    SavedKindScope const kind(SavedKind::attention);
    // Ranks that share layers gather the tokens first.
    bool const by_place = temporal && with.linears.ranks == nullptr;
    at::Tensor const made =
        modulated(x, rows[0], rows[1], by_place ? TokenOrder::by_place : TokenOrder::as_x);
    at::Tensor const read = gathered_tokens(with.linears, made, 2);
    at::Tensor const mixed = temporal ? across_frames(attn, read, with.rotations)
                                      : within_frames(attn, with.shared(), read);
    at::Tensor const out = gated(x, rows[2], attn.proj.summed(with.linears, mixed, 2));
    return at::add(out, to_captions(cross_attn, out, with));
}

at::Tensor Block::plain(at::Tensor const& x, Conditioning const& with,
                        BlockRecompute const& recompute) const {
    at::Tensor const table = at::add(with.modulation, scale_shift_table.unsqueeze(1));
    auto const rows = table.unbind(2);  // (B, 1 or T, 1, hidden) each
    auto const attention = [this, rest = with.without_gradients()](Tensors const& from) {
        Conditioning same = rest;
        same.text.tokens = from[1];
        return Tensors{with_attention(from[0], {from[2], from[3], from[4]}, same)};
    };
    at::Tensor const out =
        recompute.attention(attention, {x, with.text.tokens, rows[0], rows[1], rows[2]},
                            attention_parameters().tensors())[0];
    SavedKindScope const kind(SavedKind::mlp);
    return gated(out, rows[5], fed(mlp, modulated(out, rows[3], rows[4]), with));
}

at::Tensor to_captions(CrossAttention const& attention, at::Tensor const& x,
                       Conditioning const& with) {
    at::Tensor const all = gathered_tokens(with.linears, x, 2);
    at::Tensor const made = attention(as_rows(all), with.text).view(all.sizes());
    return attention.proj.summed(with.linears, made, 2);
}

at::Tensor fed(Mlp const& mlp, at::Tensor const& x, Conditioning const& with) {
    at::Tensor const all = gathered_tokens(with.linears, x, 2);
    return mlp.fc2.summed(with.linears, mlp(as_rows(all)).view(all.sizes()), 2);
}

ParameterList Block::attention_parameters() const {
    ParameterList list;
    list.add(attn.qkv).add(attn.q_norm).add(attn.k_norm).add(attn.proj);
    return list.add(cross_attn.q_linear).add(cross_attn.kv_linear).add(cross_attn.proj);
}

at::Tensor Block::operator()(at::Tensor const& x, Conditioning const& with,
                             BlockRecompute const& recompute) const {
    auto const part = [this, rest = with.without_gradients(), recompute](Tensors const& from) {
        Conditioning same = rest;
        same.modulation = from[1];
        same.text.tokens = from[2];
        return Tensors{plain(from[0], same, recompute)};
    };
    ParameterList parameters = attention_parameters();
    parameters.add(scale_shift_table).add(mlp.fc1).add(mlp.fc2);
    return recompute.whole(part, {x, with.modulation, with.text.tokens}, parameters.tensors())[0];
}

FinalLayer::FinalLayer(Parameters& parameters, Stdit3Config const& config)
    : scale_shift_table(parameters.add("final_layer.scale_shift_table", {2, config.hidden_size})),
      linear(parameters, "final_layer.linear", config.hidden_size,
             config.patch_volume() * config.out_channels()) {}

at::Tensor FinalLayer::operator()(at::Tensor const& x, at::Tensor const& t, at::Tensor const& t0,
                                  at::Tensor const& x_mask) const {
    auto const modulated_by = [&](at::Tensor const& values, at::Tensor const& time) {
        at::Tensor const table = time.view({-1, 1, 1, time.size(1)});
        at::Tensor const shift = at::add(table, scale_shift_table.select(0, 0));
        at::Tensor const scale1 = at::add(table, scale_shift_table.select(0, 1)).add(1);
        return modulated(values, shift, scale1);
    };
    at::Tensor out = modulated_by(x, t);
    if (x_mask.defined())
        out = at::where(x_mask.view({x.size(0), x.size(1), 1, 1}), out, modulated_by(out, t0));
    auto shape = x.sizes().vec();
    shape.back() = linear.weight.size(0);
    return linear(as_rows(out)).view(shape);
}

at::Tensor unpatchify(at::Tensor const& tokens, Stdit3Config const& config, TokenGrid const& grid,
                      at::Tensor const& x) {
    auto const& [pt, ph, pw] = config.patch_size;
    std::int64_t const channels = config.out_channels();
    at::Tensor const video =
        tokens.view({grid.batch, grid.frames, grid.rows, grid.columns, pt, ph, pw, channels})
            .permute({0, 7, 1, 4, 2, 5, 3, 6})
            .reshape({grid.batch, channels, grid.frames * pt, grid.rows * ph, grid.columns * pw});
    return video.narrow(2, 0, x.size(2)).narrow(3, 0, x.size(3)).narrow(4, 0, x.size(4));
}

}  // namespace osora::worker
