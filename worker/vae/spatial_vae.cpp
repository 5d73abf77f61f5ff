#include "worker/vae/spatial_vae.hpp"

#include "base/check.hpp"
#include "worker/vae/spatial_blocks.hpp"

#include <algorithm>

namespace osora::worker {

/// In the order of the forward pass, which is the order of the parameters.
struct SpatialVae::Layers {
    Layers(Scope const& scope, SpatialVaeConfig const& config)
        : encoder(scope / "encoder", config),
          quant_conv(scope / "quant_conv", 2 * config.latent_channels, 2 * config.latent_channels,
                     1),
          post_quant_conv(scope / "post_quant_conv", config.latent_channels, config.latent_channels,
                          1),
          decoder(scope / "decoder", config) {}

    SpatialEncoder encoder;
    Conv2d quant_conv, post_quant_conv;
    SpatialDecoder decoder;
};

SpatialVae::SpatialVae(Parameters& parameters, SpatialVaeConfig const& config,
                       PartOptions const& options)
    : config_(config) {
    OSORA_CHECK(check_vae_config(config).has_value());
    layers_ = std::make_unique<Layers>(Scope{parameters, options.prefix, options.kind}, config_);
}
SpatialVae::~SpatialVae() = default;
SpatialVae::SpatialVae(SpatialVae&&) noexcept = default;
SpatialVae& SpatialVae::operator=(SpatialVae&&) noexcept = default;

namespace {

/// As diffusers: a frame that fits into one tile is not needs_tiles.
bool needs_tiles(Tiling const& tiling, at::Tensor const& frames, std::int64_t tile_side) {
    return tiling.tile_px > 0 && std::max(frames.size(2), frames.size(3)) > tile_side;
}

}  // namespace

at::Tensor SpatialVae::encode(at::Tensor const& x, Tiling const& tiling) const {
    OSORA_CHECK_EQ(x.dim(), 4);
    OSORA_CHECK_EQ(x.size(1), config_.in_channels);
    auto const whole = [&](at::Tensor const& tile) {
        return layers_->quant_conv(layers_->encoder(tile));
    };
    if (!needs_tiles(tiling, x, tiling.tile_px)) return whole(x);
    return run_tiled(x, encode_tiles(tiling, config_.factor()), whole);
}

at::Tensor SpatialVae::decode(at::Tensor const& z, Tiling const& tiling) const {
    OSORA_CHECK_EQ(z.dim(), 4);
    OSORA_CHECK_EQ(z.size(1), config_.latent_channels);
    auto const whole = [&](at::Tensor const& tile) {
        return layers_->decoder(layers_->post_quant_conv(tile));
    };
    if (!needs_tiles(tiling, z, tiling.tile_px / config_.factor())) return whole(z);
    return run_tiled(z, decode_tiles(tiling, config_.factor()), whole);
}

}  // namespace osora::worker
