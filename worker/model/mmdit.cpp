#include "worker/model/mmdit.hpp"

#include "base/check.hpp"
#include "worker/model/embedders.hpp"
#include "worker/model/mmdit_block.hpp"
#include "worker/model/modulation.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/silu.h>
#include <fmt/format.h>

#include <optional>

namespace osora::worker {
namespace {

/// Linear, SiLU, Linear.
struct VectorEmbed {
    VectorEmbed(Parameters& parameters, std::string const& name, std::int64_t in,
                std::int64_t hidden)
        : in_layer(parameters, name + ".in_layer", in, hidden),
          out_layer(parameters, name + ".out_layer", hidden, hidden) {}
    [[nodiscard]] at::Tensor operator()(at::Tensor const& rows) const {
        return out_layer(at::silu(in_layer(rows)));
    }
    Linear in_layer, out_layer;
};

/// Values in 0..1 as a sinusoid of 256 numbers; times 1000 in the type of the values.
at::Tensor scalar_sinusoid(at::Tensor const& values) {
    return sinusoid(values.mul(1000.0)).to(values.scalar_type());
}

}  // namespace

/// Members are built in the order of the state dict.
struct Mmdit::Layers {
    Layers(Parameters& parameters, MmditConfig const& config)
        : img_in(parameters, "img_in", config.in_channels, config.hidden_size),
          time_in(parameters, "time_in", 256, config.hidden_size),
          vector_in(parameters, "vector_in", config.vec_in_dim, config.hidden_size) {
        std::int64_t const hidden = config.hidden_size;
        if (config.guidance_embed) guidance_in.emplace(parameters, "guidance_in", 256, hidden);
        if (config.cond_embed)
            cond_in.emplace(parameters, "cond_in", config.cond_channels(), hidden);
        txt_in.emplace(parameters, "txt_in", config.context_in_dim, hidden);
        for (std::int64_t i = 0; i < config.depth; ++i)
            double_blocks.emplace_back(parameters, fmt::format("double_blocks.{}", i), config);
        for (std::int64_t i = 0; i < config.depth_single_blocks; ++i)
            single_blocks.emplace_back(parameters, fmt::format("single_blocks.{}", i), config);
        final_linear.emplace(parameters, "final_layer.linear", hidden, config.in_channels);
        final_modulation.emplace(parameters, "final_layer.adaLN_modulation.1", hidden, 2 * hidden);
    }

    Linear img_in;
    VectorEmbed time_in, vector_in;
    std::optional<VectorEmbed> guidance_in;
    std::optional<Linear> cond_in;
    std::optional<Linear> txt_in;
    std::vector<DoubleBlock> double_blocks;
    std::vector<SingleBlock> single_blocks;
    std::optional<Linear> final_linear, final_modulation;
};

Mmdit::Mmdit(MmditConfig const& config, at::TensorOptions options)
    : config_(config), parameters_(options) {
    OSORA_CHECK(check_mmdit_config(config).has_value());
    layers_ = std::make_unique<Layers>(parameters_, config_);
}
Mmdit::~Mmdit() = default;
Mmdit::Mmdit(Mmdit&&) noexcept = default;
Mmdit& Mmdit::operator=(Mmdit&&) noexcept = default;

at::Tensor Mmdit::forward(MmditInput const& input) const {
    auto const& layers = *layers_;
    auto const dtype = layers.img_in.weight.scalar_type();
    OSORA_CHECK_EQ(input.cond.defined(), config_.cond_embed);
    OSORA_CHECK_EQ(input.guidance.defined(), config_.guidance_embed);
    std::int64_t const text_tokens = input.txt.size(1);

    at::Tensor img = layers.img_in.over(input.img.to(dtype));
    if (config_.cond_embed) img = at::add(img, layers.cond_in->over(input.cond.to(dtype)));
    at::Tensor vec = layers.time_in(scalar_sinusoid(input.timesteps.to(dtype)));
    if (config_.guidance_embed)
        vec = at::add(vec, (*layers.guidance_in)(scalar_sinusoid(input.guidance.to(dtype))));
    vec = at::add(vec, layers.vector_in(input.y_vec.to(dtype)));
    at::Tensor txt = layers.txt_in->over(input.txt.to(dtype));

    at::Tensor const ids = at::cat({input.txt_ids.to(dtype), input.img_ids.to(dtype)}, 1);
    auto const layout = config_.use_liger_rope ? RopeLayout::halves : RopeLayout::pairs;
    MmditConditioning const with{at::silu(vec),
                                 axes_rope(ids, config_.axes_dim, config_.theta, layout)};
    for (auto const& block : layers.double_blocks) std::tie(img, txt) = block(img, txt, with);
    at::Tensor x = at::cat({txt, img}, 1);
    for (auto const& block : layers.single_blocks) x = block(x, with);
    x = x.narrow(1, text_tokens, x.size(1) - text_tokens);

    auto const rows = (*layers.final_modulation)(with.silu_vec).unsqueeze(1).chunk(2, -1);
    return layers.final_linear->over(modulated(x, rows[0], rows[1].add(1)));
}

}  // namespace osora::worker
