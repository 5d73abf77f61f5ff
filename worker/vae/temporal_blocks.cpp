#include "worker/vae/temporal_blocks.hpp"

#include <utility>

namespace osora::worker {
namespace {

constexpr double kTemporalEps = 1e-5;
constexpr ConvOptions kNoBias{1, false};

ResBlocks3d res_blocks_of(Scope const& scope, std::int64_t in, std::int64_t out,
                          TemporalVaeConfig const& config) {
    ResBlocks3d blocks;
    for (std::int64_t j = 0; j < config.num_res_blocks; ++j)
        blocks.emplace_back(scope / j, j == 0 ? in : out, out, config.num_groups);
    return blocks;
}

at::Tensor pass(ResBlocks3d const& blocks, at::Tensor x) {
    for (auto const& block : blocks) x = block(std::move(x));
    return x;
}

std::int64_t width_of(TemporalVaeConfig const& config, std::size_t level) {
    return config.filters * config.channel_multipliers[level];
}

std::int64_t last_width(TemporalVaeConfig const& config) {
    return config.filters * config.channel_multipliers.back();
}

std::vector<TemporalEncoder::Level> encoder_levels(Scope const& scope,
                                                   TemporalVaeConfig const& config) {
    std::vector<TemporalEncoder::Level> levels;
    std::int64_t width = config.filters;
    for (std::size_t i = 0; i < config.channel_multipliers.size(); ++i) {
        auto const index = static_cast<std::int64_t>(i);
        std::int64_t const out = width_of(config, i);
        TemporalEncoder::Level level{
            res_blocks_of(scope / "block_res_blocks" / index, width, out, config), std::nullopt};
        if (i < config.temporal_downsample.size() && config.temporal_downsample[i])
            level.halve_time.emplace(scope / "conv_blocks" / index, out, out, 3,
                                     ConvOptions{2, true});
        width = out;
        levels.push_back(std::move(level));
    }
    return levels;
}

std::vector<TemporalDecoder::Level> decoder_levels(Scope const& scope,
                                                   TemporalVaeConfig const& config) {
    std::vector<TemporalDecoder::Level> levels;
    std::int64_t width = last_width(config);
    for (std::size_t i = config.channel_multipliers.size(); i-- > 0;) {
        auto const index = static_cast<std::int64_t>(i);
        std::int64_t const out = width_of(config, i);
        TemporalDecoder::Level level{
            res_blocks_of(scope / "block_res_blocks" / index, width, out, config), std::nullopt};
        if (i > 0 && config.temporal_downsample[i - 1])
            level.double_time.emplace(scope / "conv_blocks" / (index - 1), out, 2 * out, 3);
        width = out;
        levels.push_back(std::move(level));
    }
    return levels;
}

/// (B, C s, T, H, W) -> (B, C, T s, H, W); the time factor s = 2 is the fastest channel index.
at::Tensor depth_to_time(at::Tensor const& x) {
    return x.view({x.size(0), x.size(1) / 2, 2, x.size(2), x.size(3), x.size(4)})
        .permute({0, 1, 3, 2, 4, 5})
        .reshape({x.size(0), x.size(1) / 2, 2 * x.size(2), x.size(3), x.size(4)});
}

}  // namespace

ResBlock3d::ResBlock3d(Scope const& scope, std::int64_t in, std::int64_t out, std::int64_t groups)
    : norm1(scope / "norm1", in, groups, kTemporalEps),
      conv1(scope / "conv1", in, out, 3, kNoBias),
      norm2(scope / "norm2", out, groups, kTemporalEps),
      conv2(scope / "conv2", out, out, 3, kNoBias) {
    if (in != out) conv3.emplace(scope / "conv3", in, out, 1, kNoBias);
}

at::Tensor ResBlock3d::operator()(at::Tensor x) const {
    at::Tensor h = conv1(norm1(x));
    h = norm2(h);
    h = conv2(std::move(h));
    if (conv3) x = (*conv3)(x);
    return h.add_(x);
}

TemporalEncoder::TemporalEncoder(Scope const& scope, TemporalVaeConfig const& config)
    : conv_in(scope / "conv_in", config.in_out_channels, config.filters, 3, kNoBias),
      levels(encoder_levels(scope, config)),
      res_blocks(
          res_blocks_of(scope / "res_blocks", last_width(config), last_width(config), config)),
      norm1(scope / "norm1", last_width(config), config.num_groups, kTemporalEps),
      conv2(scope / "conv2", last_width(config), 2 * config.latent_embed_dim, 1) {}

at::Tensor TemporalEncoder::operator()(at::Tensor x) const {
    x = conv_in(std::move(x));
    for (auto const& level : levels) {
        x = pass(level.blocks, std::move(x));
        if (level.halve_time) x = (*level.halve_time)(std::move(x));
    }
    x = pass(res_blocks, std::move(x));
    x = norm1(x);
    return conv2(std::move(x));
}

TemporalDecoder::TemporalDecoder(Scope const& scope, TemporalVaeConfig const& config)
    : conv1(scope / "conv1", config.latent_embed_dim, last_width(config), 3),
      res_blocks(
          res_blocks_of(scope / "res_blocks", last_width(config), last_width(config), config)),
      levels(decoder_levels(scope, config)),
      norm1(scope / "norm1", width_of(config, 0), config.num_groups, kTemporalEps),
      conv_out(scope / "conv_out", width_of(config, 0), config.in_out_channels, 3) {}

at::Tensor TemporalDecoder::operator()(at::Tensor z) const {
    z = pass(res_blocks, conv1(std::move(z)));
    for (auto const& level : levels) {
        z = pass(level.blocks, std::move(z));
        if (!level.double_time) continue;
        z = (*level.double_time)(std::move(z));
        z = depth_to_time(z);
    }
    z = norm1(z);
    return conv_out(std::move(z));
}

}  // namespace osora::worker
