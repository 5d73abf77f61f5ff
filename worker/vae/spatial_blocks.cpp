#include "worker/vae/spatial_blocks.hpp"

#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <utility>

namespace osora::worker {
namespace {

constexpr double kSpatialEps = 1e-6;

std::vector<SpatialLevel> down_levels(Scope const& scope, SpatialVaeConfig const& config) {
    std::vector<SpatialLevel> levels;
    std::int64_t width = config.block_out_channels.front();
    std::size_t const count = config.block_out_channels.size();
    for (std::size_t i = 0; i < count; ++i) {
        Scope const block = scope / static_cast<std::int64_t>(i);
        std::int64_t const out = config.block_out_channels[i];
        SpatialLevel level;
        for (std::int64_t j = 0; j < config.layers_per_block; ++j)
            level.resnets.emplace_back(block / "resnets" / j, std::exchange(width, out), out,
                                       config.norm_num_groups);
        if (i + 1 < count) level.resize.emplace(block / "downsamplers.0.conv", out, out, 3);
        levels.push_back(std::move(level));
    }
    return levels;
}

std::vector<SpatialLevel> up_levels(Scope const& scope, SpatialVaeConfig const& config) {
    std::vector<SpatialLevel> levels;
    std::int64_t width = config.block_out_channels.back();
    std::size_t const count = config.block_out_channels.size();
    for (std::size_t i = 0; i < count; ++i) {
        Scope const block = scope / static_cast<std::int64_t>(i);
        std::int64_t const out = config.block_out_channels[count - 1 - i];
        SpatialLevel level;
        for (std::int64_t j = 0; j <= config.layers_per_block; ++j)
            level.resnets.emplace_back(block / "resnets" / j, std::exchange(width, out), out,
                                       config.norm_num_groups);
        if (i + 1 < count) level.resize.emplace(block / "upsamplers.0.conv", out, out, 3);
        levels.push_back(std::move(level));
    }
    return levels;
}

}  // namespace

ResnetBlock2d::ResnetBlock2d(Scope const& scope, std::int64_t in, std::int64_t out,
                             std::int64_t groups)
    : norm1(scope / "norm1", in, groups, kSpatialEps),
      conv1(scope / "conv1", in, out, 3),
      norm2(scope / "norm2", out, groups, kSpatialEps),
      conv2(scope / "conv2", out, out, 3) {
    if (in != out) conv_shortcut.emplace(scope / "conv_shortcut", in, out, 1);
}

at::Tensor ResnetBlock2d::operator()(at::Tensor x) const {
    at::Tensor h = norm1(x);
    h = conv1(h);
    h = norm2(h);
    h = conv2(h);
    if (conv_shortcut) x = (*conv_shortcut)(x);
    return h.add_(x);
}

PixelAttention::Projection::Projection(Scope const& scope, std::int64_t channels)
    : weight(scope.add("weight", {channels, channels})), bias(scope.add("bias", {channels})) {}

PixelAttention::PixelAttention(Scope const& scope, std::int64_t channels, std::int64_t groups)
    : group_norm(scope / "group_norm", channels, groups, kSpatialEps),
      to_q(scope / "to_q", channels),
      to_k(scope / "to_k", channels),
      to_v(scope / "to_v", channels),
      to_out(scope / "to_out.0", channels) {}

at::Tensor PixelAttention::operator()(at::Tensor const& x) const {
    at::Tensor const tokens = group_norm.plain(x).flatten(2).transpose(1, 2);  // (N, H W, C)
    auto const project = [&](Projection const& by) {
        return at::linear(tokens, by.weight, by.bias).unsqueeze(1);  // one head
    };
    at::Tensor const mixed =
        at::scaled_dot_product_attention(project(to_q), project(to_k), project(to_v)).squeeze(1);
    return at::linear(mixed, to_out.weight, to_out.bias).transpose(1, 2).reshape(x.sizes()).add_(x);
}

MidBlock::MidBlock(Scope const& scope, std::int64_t channels, std::int64_t groups)
    : first(scope / "resnets.0", channels, channels, groups),
      attention(scope / "attentions.0", channels, groups),
      second(scope / "resnets.1", channels, channels, groups) {}

at::Tensor MidBlock::operator()(at::Tensor x) const {
    return second(attention(first(std::move(x))));
}

SpatialEncoder::SpatialEncoder(Scope const& scope, SpatialVaeConfig const& config)
    : conv_in(scope / "conv_in", config.in_channels, config.block_out_channels.front(), 3),
      down(down_levels(scope / "down_blocks", config)),
      mid(scope / "mid_block", config.block_out_channels.back(), config.norm_num_groups),
      norm_out(scope / "conv_norm_out", config.block_out_channels.back(), config.norm_num_groups,
               kSpatialEps),
      conv_out(scope / "conv_out", config.block_out_channels.back(), 2 * config.latent_channels,
               3) {}

at::Tensor SpatialEncoder::operator()(at::Tensor const& x) const {
    at::Tensor h = conv_in(x);
    for (auto const& level : down) {
        for (auto const& resnet : level.resnets) h = resnet(std::move(h));
        if (level.resize) h = level.resize->halve(std::move(h));
    }
    h = mid(std::move(h));
    h = norm_out(h);
    return conv_out(h);
}

SpatialDecoder::SpatialDecoder(Scope const& scope, SpatialVaeConfig const& config)
    : conv_in(scope / "conv_in", config.latent_channels, config.block_out_channels.back(), 3),
      mid(scope / "mid_block", config.block_out_channels.back(), config.norm_num_groups),
      up(up_levels(scope / "up_blocks", config)),
      norm_out(scope / "conv_norm_out", config.block_out_channels.front(), config.norm_num_groups,
               kSpatialEps),
      conv_out(scope / "conv_out", config.block_out_channels.front(), config.out_channels, 3) {}

at::Tensor SpatialDecoder::operator()(at::Tensor const& z) const {
    at::Tensor h = mid(conv_in(z));
    for (auto const& level : up) {
        for (auto const& resnet : level.resnets) h = resnet(std::move(h));
        if (!level.resize) continue;
        h = at::upsample_nearest2d(h, {2 * h.size(2), 2 * h.size(3)});
        h = (*level.resize)(h);
    }
    h = norm_out(h);
    return conv_out(h);
}

}  // namespace osora::worker
