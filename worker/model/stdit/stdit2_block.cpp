#include "worker/model/stdit/stdit2_block.hpp"

#include "worker/memory/saved_kind.hpp"
#include "worker/model/modulation.hpp"

#include <ATen/ops/add.h>

namespace osora::worker {
namespace {

using Tensors = std::vector<at::Tensor>;

}  // namespace

Stdit2Block::Stdit2Block(Parameters& parameters, std::string const& name,
                         Stdit2Config const& config)
    : scale_shift_table(parameters.add(name + ".scale_shift_table", {6, config.hidden_size})),
      attn(parameters, name + ".attn", config, config.qk_norm_legacy),
      scale_shift_table_temporal(
          parameters.add(name + ".scale_shift_table_temporal", {3, config.hidden_size})),
      attn_temp(parameters, name + ".attn_temp", config, config.qk_norm_legacy),
      cross_attn(parameters, name + ".cross_attn", config),
      mlp(Mlp::shared(parameters, name + ".mlp", config.hidden_size, config.mlp_hidden_size(),
                      config.hidden_size)) {}

at::Tensor Stdit2Block::with_attention(at::Tensor const& x, std::vector<at::Tensor> const& rows,
                                       Conditioning const& with) const {
    SavedKindScope const kind(SavedKind::attention);
    auto const all = [&](at::Tensor const& own) { return gathered_tokens(with.linears, own, 2); };
    at::Tensor const within =
        within_frames(attn, with.shared(), all(modulated(x, rows[0], rows[1])));
    at::Tensor out = gated(x, rows[2], attn.proj.summed(with.linears, within, 2));
    at::Tensor const across =
        across_frames(attn_temp, all(modulated(out, rows[3], rows[4])), with.rotations);
    out = gated(out, rows[5], attn_temp.proj.summed(with.linears, across, 2));
    return at::add(out, to_captions(cross_attn, out, with));
}

at::Tensor Stdit2Block::plain(at::Tensor const& x, Stdit2Conditioning const& with,
                              BlockRecompute const& recompute) const {
    auto const rows_of = [](at::Tensor const& modulation, at::Tensor const& table) {
        return at::add(modulation, table.unsqueeze(1)).unbind(2);  // (B, 1 or T, 1, hidden) each
    };
    auto const rows = rows_of(with.both.modulation, scale_shift_table);
    auto const over = rows_of(with.temporal, scale_shift_table_temporal);
    auto const attention = [this, rest = with.both.without_gradients()](Tensors const& from) {
        Conditioning same = rest;
        same.text.tokens = from[1];
        return Tensors{with_attention(from[0], {from.begin() + 2, from.end()}, same)};
    };
    at::Tensor const out = recompute.attention(
        attention, {x, with.both.text.tokens, rows[0], rows[1], rows[2], over[0], over[1], over[2]},
        attention_parameters().tensors())[0];
    SavedKindScope const kind(SavedKind::mlp);
    return gated(out, rows[5], fed(mlp, modulated(out, rows[3], rows[4]), with.both));
}

ParameterList Stdit2Block::attention_parameters() const {
    ParameterList list;
    for (SelfAttention const* each : {&attn, &attn_temp})
        list.add(each->qkv).add(each->q_norm).add(each->k_norm).add(each->proj);
    return list.add(cross_attn.q_linear).add(cross_attn.kv_linear).add(cross_attn.proj);
}

at::Tensor Stdit2Block::operator()(at::Tensor const& x, Stdit2Conditioning const& with,
                                   BlockRecompute const& recompute) const {
    auto const part = [this, rest = with.both.without_gradients(), recompute](Tensors const& from) {
        Stdit2Conditioning same{rest, from[3]};
        same.both.modulation = from[1];
        same.both.text.tokens = from[2];
        return Tensors{plain(from[0], same, recompute)};
    };
    ParameterList parameters = attention_parameters();
    parameters.add(scale_shift_table).add(scale_shift_table_temporal).add(mlp.fc1).add(mlp.fc2);
    return recompute.whole(part, {x, with.both.modulation, with.both.text.tokens, with.temporal},
                           parameters.tensors())[0];
}

}  // namespace osora::worker
