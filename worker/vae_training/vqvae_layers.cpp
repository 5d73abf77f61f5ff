#include "worker/vae_training/vqvae_layers.hpp"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/conv_transpose3d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/var_mean.h>
#include <c10/core/GradMode.h>

#include <tuple>

namespace osora::worker {
namespace {

constexpr double kNormEps = 1e-5, kMomentum = 0.1;
constexpr std::int64_t kHeads = 2;

/// Zeros so that kernel k with stride s keeps sides / s: k - s of them, the odd one in front.
std::vector<std::int64_t> same_padding(std::int64_t kernel, Sides const& stride) {
    std::vector<std::int64_t> padding;
    for (std::size_t axis = stride.size(); axis-- > 0;) {
        std::int64_t const total = kernel - stride[axis];
        padding.push_back(total / 2 + total % 2);
        padding.push_back(total / 2);
    }
    return padding;
}

std::optional<at::Tensor> optional_of(at::Tensor const& tensor) {
    return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

Scope buffers(Scope const& scope) {
    return {scope.parameters, scope.name, TensorKind::buffer};
}

}  // namespace

BatchNormRelu::BatchNormRelu(Scope const& scope, std::int64_t channels)
    : weight(scope.add("weight", {channels})),
      bias(scope.add("bias", {channels})),
      running_mean(buffers(scope).add("running_mean", {channels})),
      running_var(buffers(scope).add("running_var", {channels})),
      num_batches_tracked(buffers(scope).add("num_batches_tracked", {})) {}

at::Tensor BatchNormRelu::operator()(at::Tensor const& x, bool training, NormLog* log) const {
    if (!training)
        return at::relu(at::batch_norm(x, weight, bias, running_mean, running_var, false, kMomentum,
                                       kNormEps, false));
    if (log != nullptr) {
        at::NoGradGuard const no_grad;
        auto const [variance, mean] = at::var_mean(x, {0, 2, 3, 4}, true);
        log->means.push_back(mean);
        log->variances.push_back(variance);
    }
    return at::relu(at::batch_norm(x, weight, bias, {}, {}, true, kMomentum, kNormEps, false));
}

void BatchNormRelu::move(at::Tensor const& mean, at::Tensor const& variance) const {
    at::NoGradGuard const no_grad;
    running_mean.mul_(1 - kMomentum).add_(mean, kMomentum);
    running_var.mul_(1 - kMomentum).add_(variance, kMomentum);
    num_batches_tracked.add_(1);
}

SamePadConv3d::SamePadConv3d(Scope const& scope, Sides const& channels_kernel, Sides const& stride,
                             bool with_bias)
    : stride(stride), padding(same_padding(channels_kernel[2], stride)) {
    auto const [in, out, kernel] = channels_kernel;
    weight = (scope / "conv").add("weight", {out, in, kernel, kernel, kernel});
    if (with_bias) bias = (scope / "conv").add("bias", {out});
}

at::Tensor SamePadConv3d::operator()(at::Tensor const& x) const {
    bool const pads = weight.size(2) > 1;
    return at::conv3d(pads ? at::constant_pad_nd(x, padding, 0) : x, weight, optional_of(bias),
                      stride);
}

SamePadConvTranspose3d::SamePadConvTranspose3d(Scope const& scope, std::int64_t in,
                                               std::int64_t out, Sides const& stride)
    : weight((scope / "convt").add("weight", {in, out, 4, 4, 4})),
      bias((scope / "convt").add("bias", {out})),
      stride(stride),
      padding(same_padding(4, stride)) {}

at::Tensor SamePadConvTranspose3d::operator()(at::Tensor const& x) const {
    return at::conv_transpose3d(at::constant_pad_nd(x, padding, 0), weight, bias, stride,
                                {3, 3, 3});
}

AxisAttention::AxisAttention(Scope const& scope, std::int64_t channels, std::int64_t axis)
    : w_qs((scope / "w_qs").add("weight", {channels, channels})),
      w_ks((scope / "w_ks").add("weight", {channels, channels})),
      w_vs((scope / "w_vs").add("weight", {channels, channels})),
      fc((scope / "fc").add("weight", {channels, channels})),
      fc_bias((scope / "fc").add("bias", {channels})),
      axis(axis) {}

at::Tensor AxisAttention::operator()(at::Tensor const& x) const {
    at::Tensor const rows = x.movedim(axis, 3).contiguous();  // (B, ., ., axis, C)
    auto const heads = [&](at::Tensor const& weight) {
        return at::linear(rows, weight)
            .unflatten(-1, {kHeads, x.size(4) / kHeads})
            .transpose(3, 4)
            .flatten(0, 2);  // (B . ., heads, axis, C / heads)
    };
    at::Tensor const mixed = at::scaled_dot_product_attention(heads(w_qs), heads(w_ks), heads(w_vs))
                                 .transpose(1, 2)
                                 .flatten(2)
                                 .view(rows.sizes());
    return at::linear(mixed, fc, fc_bias).movedim(3, axis);
}

AttentionResidualBlock::AttentionResidualBlock(Scope const& scope, std::int64_t channels)
    : norm1(scope / "block.0", channels),
      conv1(scope / "block.2", {channels, channels / 2, 3}, {1, 1, 1}, false),
      norm2(scope / "block.3", channels / 2),
      conv2(scope / "block.5", {channels / 2, channels, 1}, {1, 1, 1}, false),
      norm3(scope / "block.6", channels),
      along_w(scope / "block.8.attn_w", channels, 3),
      along_h(scope / "block.8.attn_h", channels, 2),
      along_t(scope / "block.8.attn_t", channels, 1) {}

at::Tensor AttentionResidualBlock::operator()(at::Tensor const& x, bool training,
                                              NormLog* log) const {
    at::Tensor h = conv1(norm1(x, training, log));
    h = conv2(norm2(h, training, log));
    h = norm3(h, training, log).movedim(1, -1).contiguous();
    h = along_w(h).add(along_h(h)).add(along_t(h));
    return x.add(h.movedim(-1, 1));
}

ResidualStack::ResidualStack(Scope const& scope, std::int64_t channels, std::int64_t count)
    : blocks([&] {
          std::vector<AttentionResidualBlock> made;
          for (std::int64_t i = 0; i < count; ++i) made.emplace_back(scope / i, channels);
          return made;
      }()),
      norm(scope / count, channels) {}

at::Tensor ResidualStack::operator()(at::Tensor x, bool training, NormLog* log) const {
    for (auto const& block : blocks) x = block(x, training, log);
    return norm(x, training, log);
}

std::vector<BatchNormRelu const*> ResidualStack::norms() const {
    std::vector<BatchNormRelu const*> found;
    for (auto const& block : blocks)
        for (auto const* each : {&block.norm1, &block.norm2, &block.norm3}) found.push_back(each);
    found.push_back(&norm);
    return found;
}

}  // namespace osora::worker
