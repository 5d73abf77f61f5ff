#include "worker/model/stdit/stdit2.hpp"

#include "base/check.hpp"
#include "worker/model/rope.hpp"
#include "worker/model/stdit/stdit2_block.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <cmath>

namespace osora::worker {

/// Members are built in the order of the forward pass, which is the order of the parameters.
struct Stdit2::Layers {
    Layers(Parameters& parameters, Stdit2Config const& config, StageRanks const* stages)
        : csize_embedder(parameters, "csize_embedder", config.hidden_size / 3),
          ar_embedder(parameters, "ar_embedder", config.hidden_size / 3),
          fl_embedder(parameters, "fl_embedder", config.hidden_size),
          fps_embedder(parameters, "fps_embedder", config.hidden_size),
          x_embedder(parameters, config),
          t_embedder(parameters, "t_embedder", config.hidden_size),
          t_block(parameters, "t_block.1", config.hidden_size, 6 * config.hidden_size),
          t_block_temp(parameters, "t_block_temp.1", config.hidden_size, 3 * config.hidden_size),
          y_embedder(parameters, config),
          rope_freqs(parameters.add("rope.freqs", {config.head_dim() / 2}, TensorKind::frozen)),
          cut(stages, config.depth),
          blocks(make_blocks(parameters, config, cut)),
          final_layer(parameters, config) {}

    static std::vector<Stdit2Block> make_blocks(Parameters& parameters, Stdit2Config const& config,
                                                StageCut const& cut) {
        std::vector<Stdit2Block> blocks;
        for (std::int64_t i = 0; i < config.depth; ++i) {
            parameters.enter_unit(1 + blocks.size());
            parameters.set_place(cut.place_of(i));
            blocks.emplace_back(parameters, fmt::format("blocks.{}", i), config);
        }
        parameters.set_place(Place::every_rank);
        parameters.enter_unit(1 + blocks.size());
        return blocks;
    }

    ScalarEmbed csize_embedder, ar_embedder, fl_embedder, fps_embedder;
    PatchEmbed x_embedder;
    ScalarEmbed t_embedder;
    Linear t_block, t_block_temp;
    CaptionEmbed y_embedder;
    at::Tensor rope_freqs;  // (head_dim / 2)
    StageCut cut;           // of the blocks
    std::vector<Stdit2Block> blocks;
    FinalLayer final_layer;
    PositionTable positions;
};

Stdit2::Stdit2(Stdit2Config const& config, at::TensorOptions options, LayerRanks sharing)
    : config_(config),
      parameters_(options, share_of(sharing.linears.get())),
      sharing_(std::move(sharing)) {
    OSORA_CHECK(check_stdit2_config(config).has_value());
    parameters_.delay_memory(sharing_.delays_memory);
    layers_ = std::make_unique<Layers>(parameters_, config_, sharing_.stages.get());
}
Stdit2::~Stdit2() = default;
Stdit2::Stdit2(Stdit2&&) noexcept = default;
Stdit2& Stdit2::operator=(Stdit2&&) noexcept = default;

namespace {

/// (n, ...) -> (batch, ...).
at::Tensor repeated(at::Tensor const& values, std::int64_t batch) {
    std::int64_t const count = values.size(0);
    OSORA_CHECK_EQ(batch % count, 0);
    if (count == batch) return values;
    std::vector<std::int64_t> times(static_cast<std::size_t>(values.dim()), 1);
    times[0] = batch / count;
    return values.repeat(times);
}

/// t_block(t) as (B, 1, rows, 1, hidden), the scales with their 1.
at::Tensor modulation_of(Linear const& block, at::Tensor const& t, std::int64_t rows) {
    at::Tensor const made = block(at::silu(t)).view({t.size(0), 1, rows, 1, t.size(1)});
    return at::add(made, modulation_offset(made.options(), rows));
}

}  // namespace

at::Tensor Stdit2::forward(Stdit2Input const& input) const {
    auto& layers = *layers_;
    auto const dtype = layers.t_block.weight.scalar_type();
    auto const grid = token_grid(config_, input.x);
    std::int64_t const hidden = config_.hidden_size;
    OSORA_CHECK_EQ(input.timestep.size(0), grid.batch);
    OSORA_CHECK(input.height_px > 0 && input.width_px > 0);

    StageSpan const span = layers.cut.span();
    parameters_.open_unit(0);
    // Facts about the clip: two thirds of `info` for its size, one for its aspect ratio.
    at::Tensor const sides = at::stack({input.height, input.width}, 1);
    at::Tensor const sizes = layers.csize_embedder(sides.view({-1})).view({-1, hidden / 3 * 2});
    at::Tensor const info = at::cat(
        {repeated(sizes, grid.batch), repeated(layers.ar_embedder(input.ar), grid.batch)}, 1);
    at::Tensor const frames = at::add(repeated(layers.fl_embedder(input.num_frames), grid.batch),
                                      repeated(layers.fps_embedder(input.fps), grid.batch));

    // The model's dtype rounds the timestep before the sinusoid, but nothing else.
    at::Tensor const timestep = input.timestep.to(dtype);
    at::Tensor const t = layers.t_embedder(timestep);
    at::Tensor const t_temporal = at::add(t, frames);
    Stdit2Conditioning with{
        {grid, modulation_of(layers.t_block, at::add(t, info), 6),
         layers.y_embedder(input.y, input.y_mask, input.drop),
         rope_rotations(layers.rope_freqs, grid.frames), token_ranks_.get(),
         shared_run(sharing_.linears.get(), token_ranks_.get(), {grid.per_frame()})},
        modulation_of(layers.t_block_temp, t_temporal, 3)};
    at::Tensor t0_info;
    if (input.x_mask.defined()) {
        OSORA_CHECK_EQ(input.x_mask.size(1), grid.frames);
        at::Tensor const t0 = layers.t_embedder(at::zeros_like(timestep));
        t0_info = at::add(t0, info);
        at::Tensor const noised = input.x_mask.view({grid.batch, grid.frames, 1, 1, 1});
        with.both.modulation =
            at::where(noised, with.both.modulation, modulation_of(layers.t_block, t0_info, 6));
        with.temporal = at::where(noised, with.temporal,
                                  modulation_of(layers.t_block_temp, at::add(t0, frames), 3));
    }

    at::Tensor x;
    if (span.first) {
        double const side_px = std::sqrt(input.height_px * input.width_px);
        double const scale = side_px / static_cast<double>(config_.input_sq_size);
        x = layers.x_embedder(input.x.to(dtype), grid)
                .view({grid.batch, grid.frames, grid.per_frame(), hidden});
        x = at::add(x, layers.positions.get(grid, scale, hidden, x.options()));
        x = own_tokens(with.both.linears.ranks, own_tokens(with.both.ranks, x, 2), 2).contiguous();
    } else {
        x = from_previous(*sharing_.stages,
                          {grid.batch, grid.frames, own_count(with.both.linears), hidden},
                          t.options().requires_grad(false));
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
    // The last modulation of noised frames knows the time alone, that of given ones the size too.
    x = layers.final_layer(x, t, t0_info, input.x_mask);
    parameters_.close_unit(unit, {x});
    x = all_tokens(with.both.linears.ranks, x, 2, with.both.linears.sequences[0]);
    x = all_tokens(with.both.ranks, x, 2, grid.per_frame());
    return unpatchify(x, config_, grid, input.x).to(at::kFloat);
}

}  // namespace osora::worker
