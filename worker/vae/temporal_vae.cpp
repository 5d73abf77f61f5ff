#include "worker/vae/temporal_vae.hpp"

#include "base/check.hpp"
#include "plan/vae/vae_chunks.hpp"
#include "worker/vae/temporal_blocks.hpp"

#include <ATen/ops/constant_pad_nd.h>

#include <utility>

namespace osora::worker {

/// In the order of the forward pass, which is the order of the parameters.
struct TemporalVae::Layers {
    Layers(Scope const& scope, TemporalVaeConfig const& config)
        : encoder(scope / "encoder", config),
          quant_conv(scope / "quant_conv", 2 * config.latent_embed_dim, 2 * config.embed_dim, 1),
          post_quant_conv(scope / "post_quant_conv", config.embed_dim, config.latent_embed_dim, 1),
          decoder(scope / "decoder", config) {}

    TemporalEncoder encoder;
    CausalConv3d quant_conv, post_quant_conv;
    TemporalDecoder decoder;
};

TemporalVae::TemporalVae(Parameters& parameters, TemporalVaeConfig const& config,
                         PartOptions const& options)
    : config_(config) {
    OSORA_CHECK(check_vae_config(config).has_value());
    layers_ = std::make_unique<Layers>(Scope{parameters, options.prefix, options.kind}, config_);
}
TemporalVae::~TemporalVae() = default;
TemporalVae::TemporalVae(TemporalVae&&) noexcept = default;
TemporalVae& TemporalVae::operator=(TemporalVae&&) noexcept = default;

at::Tensor TemporalVae::encode(at::Tensor const& x) const {
    OSORA_CHECK_EQ(x.dim(), 5);
    OSORA_CHECK_EQ(x.size(1), config_.in_out_channels);
    std::int64_t const padding = plan::front_padding(x.size(2), config_.factor());
    at::Tensor padded = padding > 0 ? at::constant_pad_nd(x, {0, 0, 0, 0, padding, 0}, 0) : x;
    return layers_->quant_conv(layers_->encoder(std::move(padded)));
}

at::Tensor TemporalVae::decode(at::Tensor const& z, std::int64_t num_frames) const {
    OSORA_CHECK_EQ(z.dim(), 5);
    OSORA_CHECK_EQ(z.size(1), config_.embed_dim);
    std::int64_t const padding = plan::front_padding(num_frames, config_.factor());
    OSORA_CHECK_EQ(z.size(2) * config_.factor(), num_frames + padding);
    at::Tensor const x = layers_->decoder(layers_->post_quant_conv(z));
    return x.narrow(2, padding, num_frames);
}

}  // namespace osora::worker
