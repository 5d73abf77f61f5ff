#include "worker/model/block.hpp"

#include "worker/model/modulation.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace osora::worker {
namespace {

at::Tensor as_rows(at::Tensor const& x) {
    return x.reshape({-1, x.size(-1)});
}

}  // namespace

at::Tensor modulation_offset(at::TensorOptions const& options) {
    at::Tensor offset = at::zeros({1, 1, 6, 1, 1}, options);
    offset.select(2, 1).fill_(1);
    offset.select(2, 4).fill_(1);
    return offset;
}

Block::Block(Parameters& parameters, std::string const& name, Stdit3Config const& config,
             bool temporal)
    : temporal(temporal),
      scale_shift_table(parameters.add(name + ".scale_shift_table", {6, config.hidden_size})),
      attn(parameters, name + ".attn", config),
      cross_attn(parameters, name + ".cross_attn", config),
      mlp(parameters, name + ".mlp", config.hidden_size, config.mlp_hidden_size(),
          config.hidden_size) {}

at::Tensor Block::attended(at::Tensor const& x, Conditioning const& with) const {
    auto const& grid = with.grid;
    std::int64_t const hidden = x.size(-1);
    if (!temporal) {
        at::Tensor const groups = x.view({grid.batch * grid.frames, grid.per_frame(), hidden});
        return attn(groups, {}).view(x.sizes());
    }
    at::Tensor const groups =
        x.transpose(1, 2).reshape({grid.batch * grid.per_frame(), grid.frames, hidden});
    return attn(groups, with.rotations)
        .view({grid.batch, grid.per_frame(), grid.frames, hidden})
        .transpose(1, 2);
}

at::Tensor Block::operator()(at::Tensor const& x, Conditioning const& with) const {
    at::Tensor const table = at::add(with.modulation, scale_shift_table.unsqueeze(1));
    auto const rows = table.unbind(2);  // (B, 1 or T, 1, hidden) each
    at::Tensor out = x;
    out = at::addcmul(out, rows[2], attended(modulated(out, rows[0], rows[1]), with));
    out = at::add(out, cross_attn(as_rows(out), with.text).view(x.sizes()));
    at::Tensor const fed = mlp(as_rows(modulated(out, rows[3], rows[4])));
    return at::addcmul(out, rows[5], fed.view(x.sizes()));
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

}  // namespace osora::worker
