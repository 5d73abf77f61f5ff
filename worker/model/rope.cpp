#include "worker/model/rope.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include <vector>

namespace osora::worker {
namespace {

/// (..., n) as (..., n / 2, 2).
at::Tensor as_pairs(at::Tensor const& x) {
    auto shape = x.sizes().vec();
    shape.back() /= 2;
    shape.push_back(2);
    return x.reshape(shape);
}

}  // namespace

at::Tensor rope_freqs(std::int64_t pairs) {
    at::Tensor const exponent = at::arange(pairs, at::kFloat).div_(static_cast<double>(pairs));
    return at::pow(10000.0, exponent).reciprocal_();
}

at::Tensor rope_angles(at::Tensor const& freqs, std::int64_t frames) {
    at::Tensor const positions =
        at::arange(frames, freqs.options().dtype(at::kFloat)).to(freqs.scalar_type());
    return at::outer(positions, freqs);
}

at::Tensor rope_rotations(at::Tensor const& freqs, std::int64_t frames) {
    at::Tensor const angles = rope_angles(freqs, frames);
    return at::complex(at::cos(angles).to(at::kFloat), at::sin(angles).to(at::kFloat))
        .view({frames, 1, 1, -1});
}

at::Tensor rotate_frames(at::Tensor const& x, at::Tensor const& rotations) {
    if (x.scalar_type() == at::kFloat) {
        at::Tensor const turned = at::mul(at::view_as_complex(as_pairs(x)), rotations);
        return at::view_as_real(turned).view(x.sizes());
    }
    // Each product is rounded to the type of x, as there.
    at::Tensor const parts = at::view_as_real(rotations).to(x.scalar_type());
    at::Tensor const cos = parts.select(-1, 0), sin = parts.select(-1, 1);
    auto const pair = as_pairs(x).unbind(-1);
    at::Tensor const first = at::sub(at::mul(pair[0], cos), at::mul(pair[1], sin));
    at::Tensor const second = at::mul(pair[1], cos).add(at::mul(pair[0], sin));
    return at::stack({first, second}, -1).view(x.sizes());
}

AxesRope axes_rope(at::Tensor const& ids, std::array<std::int64_t, 3> const& axes_dim, double theta,
                   RopeLayout layout) {
    // Interleaved angles are made in double, those of Liger in fp32.
    auto const type = layout == RopeLayout::pairs ? at::kDouble : at::kFloat;
    std::vector<at::Tensor> angles;
    for (std::int64_t axis = 0; axis < 3; ++axis) {
        std::int64_t const dim = axes_dim[static_cast<std::size_t>(axis)];
        at::Tensor const exponent =
            at::arange(0, dim, 2, ids.options().dtype(type)).div_(static_cast<double>(dim));
        at::Tensor const omega = at::pow(theta, exponent).reciprocal_();
        angles.push_back(at::mul(ids.select(-1, axis).to(type).unsqueeze(-1), omega));
    }
    at::Tensor const all = at::cat(angles, -1).unsqueeze(2);
    return {at::cos(all).to(at::kFloat), at::sin(all).to(at::kFloat), layout};
}

at::Tensor rotate_axes(at::Tensor const& x, AxesRope const& rope) {
    at::Tensor const fp32 = x.to(at::kFloat);
    if (rope.layout == RopeLayout::pairs) {
        at::Tensor const rotations = at::complex(rope.cos, rope.sin);
        at::Tensor const turned = at::mul(at::view_as_complex(as_pairs(fp32)), rotations);
        return at::view_as_real(turned).view(x.sizes()).to(x.scalar_type());
    }
    auto const half = fp32.chunk(2, -1);
    at::Tensor const first = at::sub(at::mul(half[0], rope.cos), at::mul(half[1], rope.sin));
    at::Tensor const second = at::mul(half[1], rope.cos).add(at::mul(half[0], rope.sin));
    return at::cat({first, second}, -1).to(x.scalar_type());
}

}  // namespace osora::worker
