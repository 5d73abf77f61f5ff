#include "worker/vae/vae_layers.hpp"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/silu.h>

#include <utility>

namespace osora::worker {

Scope Scope::operator/(std::string_view child) const {
    return {parameters, name.empty() ? std::string(child) : name + "." + std::string(child), kind};
}

Scope Scope::operator/(std::int64_t index) const {
    return *this / std::to_string(index);
}

at::Tensor Scope::add(char const* leaf, at::IntArrayRef shape) const {
    return parameters.add((*this / leaf).name, shape, kind);
}

GroupNorm::GroupNorm(Scope const& scope, std::int64_t channels, std::int64_t groups, double eps)
    : weight(scope.add("weight", {channels})),
      bias(scope.add("bias", {channels})),
      groups(groups),
      eps(eps) {}

at::Tensor GroupNorm::plain(at::Tensor const& x) const {
    return at::group_norm(x, groups, weight, bias, eps);
}

at::Tensor GroupNorm::operator()(at::Tensor const& x) const {
    at::Tensor normed = plain(x);
    // The gradient of SiLU reads its input.
    return normed.requires_grad() ? at::silu(normed) : at::silu_(normed);
}

Conv2d::Conv2d(Scope const& scope, std::int64_t in, std::int64_t out, std::int64_t kernel)
    : weight(scope.add("weight", {out, in, kernel, kernel})), bias(scope.add("bias", {out})) {}

at::Tensor Conv2d::operator()(at::Tensor const& x) const {
    std::int64_t const padding = weight.size(2) / 2;
    return at::conv2d(x, weight, bias, {1, 1}, {padding, padding});
}

at::Tensor Conv2d::halve(at::Tensor x) const {
    x = at::constant_pad_nd(x, {0, 1, 0, 1}, 0);
    return at::conv2d(x, weight, bias, {2, 2});
}

CausalConv3d::CausalConv3d(Scope const& scope, std::int64_t in, std::int64_t out,
                           std::int64_t kernel, ConvOptions const& options)
    : time_stride(options.time_stride) {
    Scope const conv = scope / "conv";
    weight = conv.add("weight", {out, in, kernel, kernel, kernel});
    if (options.with_bias) bias = conv.add("bias", {out});
}

at::Tensor CausalConv3d::operator()(at::Tensor x) const {
    std::int64_t const kernel = weight.size(2);
    std::int64_t const around = kernel / 2;
    if (kernel > 1) x = at::constant_pad_nd(x, {0, 0, 0, 0, kernel - time_stride, 0}, 0);
    return at::conv3d(x, weight, bias.defined() ? std::optional(bias) : std::nullopt,
                      {time_stride, 1, 1}, {0, around, around});
}

}  // namespace osora::worker
