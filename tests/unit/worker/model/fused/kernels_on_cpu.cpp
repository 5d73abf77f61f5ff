#include "kernels_on_cpu.hpp"

#include "worker/model/fused/fused_kernels.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

namespace osora::worker {
namespace {

/// Numbers of `groups`, one row for each row of x.
at::Tensor spread(at::Tensor const& groups, at::Tensor const& x) {
    std::int64_t const rows = x.numel() / x.size(-1);
    return groups.repeat_interleave(rows / groups.size(0), 0).view(x.sizes());
}

/// Sums of each group's rows, as one chunk of the several that the caller adds up.
void put_sums(at::Tensor const& into, at::Tensor const& rows) {
    std::int64_t const groups = into.size(0);
    into.zero_();
    into.select(1, into.size(1) - 1).copy_(rows.reshape({groups, -1, rows.size(-1)}).sum(1));
}

void modulate(ModulateCall const& call) {
    at::Tensor const mean = call.x.mean(-1, true);
    at::Tensor const rstd = (call.x.var(-1, false, true) + 1e-6).rsqrt();
    call.mean.copy_(mean.reshape({-1, 1}));
    call.rstd.copy_(rstd.reshape({-1, 1}));
    call.out.copy_((call.x - mean) * rstd * spread(call.scale1, call.x) +
                   spread(call.shift, call.x));
}

void modulate_backward(ModulateBackwardCall const& call) {
    auto const rows = call.x.sizes().slice(0, 3);
    std::vector<std::int64_t> const shape{rows[0], rows[1], rows[2], 1};
    at::Tensor const rstd = call.rstd.view(shape);
    at::Tensor const unit = (call.x - call.mean.view(shape)) * rstd;
    at::Tensor const of_unit = call.grad * spread(call.scale1, call.x);
    call.grad_x.copy_(rstd *
                      (of_unit - of_unit.mean(-1, true) - unit * (of_unit * unit).mean(-1, true)));
    put_sums(call.sums.select(2, 0), call.grad);
    put_sums(call.sums.select(2, 1), call.grad * unit);
}

void gate(GateCall const& call) {
    call.out.copy_(call.x + spread(call.gate, call.x) * call.y);
}

void gate_backward(GateBackwardCall const& call) {
    EXPECT_EQ(call.grad_y.strides(), call.y.strides());
    call.grad_y.copy_(call.grad * spread(call.gate, call.grad));
    put_sums(call.sums, (call.grad * call.y).contiguous());
}

/// (tokens, parts, heads, dim); `back`: by minus the angles.
at::Tensor turned(at::Tensor const& x, at::Tensor const& turns, bool back) {
    if (!turns.defined()) return x;
    at::Tensor const of_tokens = turns.repeat({x.size(0) / turns.size(0), 1, 1});
    at::Tensor const cos = of_tokens.select(-1, 0).unsqueeze(1).unsqueeze(1);
    at::Tensor const sin = of_tokens.select(-1, 1).unsqueeze(1).unsqueeze(1) * (back ? -1 : 1);
    auto const pairs = x.reshape({x.size(0), x.size(1), x.size(2), -1, 2}).unbind(-1);
    return at::stack({pairs[0] * cos - pairs[1] * sin, pairs[1] * cos + pairs[0] * sin}, -1)
        .view(x.sizes());
}

void head_norm(HeadNormCall const& call) {
    at::Tensor const unit = call.x * (call.x.square().mean(-1, true) + 1e-6).rsqrt();
    at::Tensor const all = turned(unit * call.weight.unsqueeze(1).unsqueeze(0), call.turns, false);
    for (std::int64_t part = 0; part < call.x.size(1); ++part)
        call.out[static_cast<std::size_t>(part)]
            .view_as(all.select(1, 0))
            .copy_(all.select(1, part));
}

void head_norm_backward(HeadNormBackwardCall const& call) {
    std::vector<at::Tensor> grads;
    for (std::int64_t part = 0; part < call.x.size(1); ++part)
        grads.push_back(call.grad[static_cast<std::size_t>(part)].view_as(call.x.select(1, 0)));
    at::Tensor const grad = turned(at::stack(grads, 1), call.turns, true);
    at::Tensor const rstd = (call.x.square().mean(-1, true) + 1e-6).rsqrt();
    at::Tensor const unit = call.x * rstd;
    at::Tensor const of_unit = grad * call.weight.unsqueeze(1).unsqueeze(0);
    call.grad_x.view_as(call.x).copy_(rstd * (of_unit - unit * (of_unit * unit).mean(-1, true)));
    call.sums.zero_();
    call.sums[0].copy_((grad * unit).sum(at::IntArrayRef{0, 2}));
}

}  // namespace

FusedKernels const& kernels_on_cpu() {
    static FusedKernels const kernels{at::kCPU,       &modulate,  &modulate_backward, &gate,
                                      &gate_backward, &head_norm, &head_norm_backward};
    return kernels;
}

}  // namespace osora::worker
