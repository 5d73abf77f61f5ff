#include "worker/model/stdit/stdit3.hpp"

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
    Layers(Parameters& parameters, Stdit3Config const& config, StageRanks const* stages)
        : x_embedder(parameters, config),
          t_embedder(parameters, "t_embedder", config.hidden_size),
          fps_embedder(parameters, "fps_embedder", config.hidden_size),
          t_block(parameters, "t_block.1", config.hidden_size, 6 * config.hidden_size),
          y_embedder(parameters, config),
          rope_freqs(parameters.add("rope.freqs", {config.head_dim() / 2}, TensorKind::frozen)),
          cut(stages, 2 * config.depth),
          blocks(make_blocks(parameters, config, cut)),
          final_layer(parameters, config) {}

    static std::vector<Block> make_blocks(Parameters& parameters, Stdit3Config const& config,
                                          StageCut const& cut) {
        std::vector<Block> blocks;
        for (std::int64_t i = 0; i < config.depth; ++i) {
            for (bool const temporal : {false, true}) {
                parameters.enter_unit(1 + blocks.size());
                parameters.set_place(cut.place_of(static_cast<std::int64_t>(blocks.size())));
                char const* const kind = temporal ? "temporal" : "spatial";
                blocks.emplace_back(parameters, fmt::format("{}_blocks.{}", kind, i), config,
                                    temporal);
            }
        }
        parameters.set_place(Place::every_rank);
        parameters.enter_unit(1 + blocks.size());
        return blocks;
    }

    PatchEmbed x_embedder;
    ScalarEmbed t_embedder, fps_embedder;
    Linear t_block;
    CaptionEmbed y_embedder;
    at::Tensor rope_freqs;      // (head_dim / 2)
    StageCut cut;               // of the blocks
    std::vector<Block> blocks;  // spatial, temporal, spatial, ...
    FinalLayer final_layer;
    PositionTable positions;
};

Stdit3::Stdit3(Stdit3Config const& config, at::TensorOptions options, LayerRanks sharing)
    : config_(config),
      parameters_(options, share_of(sharing.linears.get())),
      sharing_(std::move(sharing)) {
    OSORA_CHECK(check_stdit3_config(config).has_value());
    parameters_.delay_memory(sharing_.delays_memory);
    layers_ = std::make_unique<Layers>(parameters_, config_, sharing_.stages.get());
}
Stdit3::~Stdit3() = default;
Stdit3::Stdit3(Stdit3&&) noexcept = default;
Stdit3& Stdit3::operator=(Stdit3&&) noexcept = default;

at::Tensor Stdit3::forward(Stdit3Input const& input) const {
    auto& layers = *layers_;
    auto const dtype = layers.t_block.weight.scalar_type();
    auto const grid = token_grid(config_, input.x);
    std::int64_t const hidden = config_.hidden_size;
    OSORA_CHECK_EQ(input.timestep.size(0), grid.batch);
    OSORA_CHECK(input.height_px > 0 && input.width_px > 0);

    StageSpan const span = layers.cut.span();
    parameters_.open_unit(0);
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
    Conditioning with{grid,
                      modulation_of(t),
                      layers.y_embedder(input.y, input.y_mask, input.drop),
                      rope_rotations(layers.rope_freqs, grid.frames),
                      token_ranks_.get(),
                      shared_run(sharing_.linears.get(), token_ranks_.get(), {grid.per_frame()})};
    if (input.x_mask.defined()) {
        OSORA_CHECK_EQ(input.x_mask.size(1), grid.frames);
        t0 = at::add(layers.t_embedder(at::zeros_like(timestep)), fps);
        at::Tensor const noised = input.x_mask.view({grid.batch, grid.frames, 1, 1, 1});
        with.modulation = at::where(noised, with.modulation, modulation_of(t0));
    }

    at::Tensor x;
    if (span.first) {
        double const side_px = std::sqrt(input.height_px * input.width_px);
        double const scale = side_px / static_cast<double>(config_.input_sq_size);
        x = layers.x_embedder(input.x.to(dtype), grid)
                .view({grid.batch, grid.frames, grid.per_frame(), hidden});
        x = at::add(x, layers.positions.get(grid, scale, hidden, x.options()));
        x = own_tokens(with.linears.ranks, own_tokens(with.ranks, x, 2), 2).contiguous();
    } else {
        x = from_previous(*sharing_.stages,
                          {grid.batch, grid.frames, own_count(with.linears), hidden},
                          fps.options().requires_grad(false));
    }
    parameters_.close_unit(0, {});
    for (auto block = span.begin; block < span.end; ++block) {
        auto const unit = static_cast<std::size_t>(block) + 1;
        parameters_.open_unit(unit);
        x = layers.blocks[unit - 1](x, with, BlockRecompute(recompute_.get(), block));
        parameters_.close_unit(unit, {x});
    }
    std::size_t const unit = layers.blocks.size() + 1;
    parameters_.open_unit(unit);
    if (!span.last) return to_next(*sharing_.stages, x);
    x = layers.final_layer(x, t, t0, input.x_mask);
    parameters_.close_unit(unit, {x});
    x = all_tokens(with.linears.ranks, x, 2, with.linears.sequences[0]);
    x = all_tokens(with.ranks, x, 2, grid.per_frame());
    return unpatchify(x, config_, grid, input.x).to(at::kFloat);
}

}  // namespace osora::worker
