#include "worker/model/stdit3.hpp"

#include "base/check.hpp"
#include "worker/model/block.hpp"
#include "worker/model/rope.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <cmath>

namespace osora::worker {

/// Members are built in the order of the forward pass, which is the order of the parameters.
struct Stdit3::Layers {
    Layers(Parameters& parameters, Stdit3Config const& config)
        : x_embedder(parameters, config),
          t_embedder(parameters, "t_embedder", config.hidden_size),
          fps_embedder(parameters, "fps_embedder", config.hidden_size),
          t_block(parameters, "t_block.1", config.hidden_size, 6 * config.hidden_size),
          y_embedder(parameters, config),
          rope_freqs(parameters.add("rope.freqs", {config.head_dim() / 2}, TensorKind::frozen)),
          blocks(make_blocks(parameters, config)),
          final_layer(parameters, config) {}

    static std::vector<Block> make_blocks(Parameters& parameters, Stdit3Config const& config) {
        std::vector<Block> blocks;
        for (std::int64_t i = 0; i < config.depth; ++i) {
            blocks.emplace_back(parameters, fmt::format("spatial_blocks.{}", i), config, false);
            blocks.emplace_back(parameters, fmt::format("temporal_blocks.{}", i), config, true);
        }
        return blocks;
    }

    PatchEmbed x_embedder;
    ScalarEmbed t_embedder, fps_embedder;
    Linear t_block;
    CaptionEmbed y_embedder;
    at::Tensor rope_freqs;      // (head_dim / 2)
    std::vector<Block> blocks;  // spatial, temporal, spatial, ...
    FinalLayer final_layer;
    PositionTable positions;
};

Stdit3::Stdit3(Stdit3Config const& config, at::TensorOptions options)
    : config_(config), parameters_(options) {
    OSORA_CHECK(check_stdit3_config(config).has_value());
    layers_ = std::make_unique<Layers>(parameters_, config_);
}
Stdit3::~Stdit3() = default;
Stdit3::Stdit3(Stdit3&&) noexcept = default;
Stdit3& Stdit3::operator=(Stdit3&&) noexcept = default;

namespace {

/// (B T S, pt ph pw C_out) -> (B, C_out, T, H, W), without the padding of x.
at::Tensor unpatchify(at::Tensor const& tokens, Stdit3Config const& config, TokenGrid const& grid,
                      at::Tensor const& x) {
    auto const& [pt, ph, pw] = config.patch_size;
    std::int64_t const channels = config.out_channels();
    at::Tensor const video =
        tokens.view({grid.batch, grid.frames, grid.rows, grid.columns, pt, ph, pw, channels})
            .permute({0, 7, 1, 4, 2, 5, 3, 6})
            .reshape({grid.batch, channels, grid.frames * pt, grid.rows * ph, grid.columns * pw});
    return video.narrow(2, 0, x.size(2)).narrow(3, 0, x.size(3)).narrow(4, 0, x.size(4));
}

}  // namespace

at::Tensor Stdit3::forward(Stdit3Input const& input) const {
    auto& layers = *layers_;
    auto const dtype = layers.t_block.weight.scalar_type();
    auto const grid = token_grid(config_, input.x);
    std::int64_t const hidden = config_.hidden_size;
    OSORA_CHECK_EQ(input.timestep.size(0), grid.batch);
    OSORA_CHECK(input.height_px > 0 && input.width_px > 0);

    // Times. The model's dtype rounds the timestep before the sinusoid, but not fps.
    at::Tensor const timestep = input.timestep.to(dtype);
    at::Tensor fps = layers.fps_embedder(input.fps);
    OSORA_CHECK_EQ(grid.batch % fps.size(0), 0);
    if (fps.size(0) != grid.batch) fps = fps.repeat({grid.batch / fps.size(0), 1});
    at::Tensor const offset = modulation_offset(fps.options());
    auto const modulation_of = [&](at::Tensor const& t) {
        return at::add(layers.t_block(at::silu(t)).view({grid.batch, 1, 6, 1, hidden}), offset);
    };
    at::Tensor const t = at::add(layers.t_embedder(timestep), fps);
    at::Tensor t0;
    Conditioning with{grid, modulation_of(t), layers.y_embedder(input.y, input.y_mask, input.drop),
                      rope_rotations(layers.rope_freqs, grid.frames)};
    if (input.x_mask.defined()) {
        OSORA_CHECK_EQ(input.x_mask.size(1), grid.frames);
        t0 = at::add(layers.t_embedder(at::zeros_like(timestep)), fps);
        at::Tensor const noised = input.x_mask.view({grid.batch, grid.frames, 1, 1, 1});
        with.modulation = at::where(noised, with.modulation, modulation_of(t0));
    }

    double const side_px = std::sqrt(input.height_px * input.width_px);
    double const scale = side_px / static_cast<double>(config_.input_sq_size);
    at::Tensor x = layers.x_embedder(input.x.to(dtype), grid)
                       .view({grid.batch, grid.frames, grid.per_frame(), hidden});
    x = at::add(x, layers.positions.get(grid, scale, hidden, x.options()));
    for (auto const& block : layers.blocks) x = block(x, with);
    x = layers.final_layer(x, t, t0, input.x_mask);
    return unpatchify(x, config_, grid, input.x).to(at::kFloat);
}

}  // namespace osora::worker
