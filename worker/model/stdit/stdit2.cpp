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
    Layers(Parameters& parameters, Stdit2Config const& config, LayerRanks const& sharing)
        : cut(sharing.stages.get(), config.depth, sharing.run_ends),
          link(sharing.stages.get()),
          csize_embedder(parameters.set_place(cut.place_of_first()), "csize_embedder",
                         config.hidden_size / 3),
          ar_embedder(parameters, "ar_embedder", config.hidden_size / 3),
          fl_embedder(parameters, "fl_embedder", config.hidden_size),
          fps_embedder(parameters, "fps_embedder", config.hidden_size),
          x_embedder(parameters, config),
          t_embedder(parameters, "t_embedder", config.hidden_size),
          t_block(parameters, "t_block.1", config.hidden_size, 6 * config.hidden_size),
          t_block_temp(parameters, "t_block_temp.1", config.hidden_size, 3 * config.hidden_size),
          y_embedder(parameters, config),
          rope_freqs(rope_of(parameters, config)),
          blocks(make_blocks(parameters, config, cut)),
          final_layer(parameters, config) {}

    static at::Tensor rope_of(Parameters& parameters, Stdit2Config const& config) {
        return parameters.set_place(Place::every_rank)
            .add("rope.freqs", {config.head_dim() / 2}, TensorKind::frozen);
    }

    static std::vector<Stdit2Block> make_blocks(Parameters& parameters, Stdit2Config const& config,
                                                StageCut const& cut) {
        std::vector<Stdit2Block> blocks;
        for (std::int64_t i = 0; i < config.depth; ++i) {
            parameters.enter_unit(1 + blocks.size());
            parameters.set_place(cut.place_of(i));
            blocks.emplace_back(parameters, fmt::format("blocks.{}", i), config);
        }
        parameters.set_place(cut.place_of_last());
        parameters.enter_unit(1 + blocks.size());
        return blocks;
    }

    [[nodiscard]] std::vector<at::Tensor> conditions(Stdit2Input const& input) const;
    [[nodiscard]] std::vector<StageLink::Sizes> condition_sizes(Stdit2Input const& input) const;

    StageCut cut;  // of the blocks
    StageLink link;

    ScalarEmbed csize_embedder, ar_embedder, fl_embedder, fps_embedder;
    PatchEmbed x_embedder;
    ScalarEmbed t_embedder;
    Linear t_block, t_block_temp;
    CaptionEmbed y_embedder;
    at::Tensor rope_freqs;  // (head_dim / 2)
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
    layers_ = std::make_unique<Layers>(parameters_, config_, sharing_);
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

/// t_block's (B, rows hidden) as (B, 1, rows, 1, hidden), the scales with their 1.
at::Tensor modulation_of(at::Tensor const& made, std::int64_t rows) {
    std::int64_t const hidden = made.size(1) / rows;
    return at::add(made.view({made.size(0), 1, rows, 1, hidden}),
                   modulation_offset(made.options(), rows));
}

}  // namespace

/// Captions (sum of lengths, hidden), and the embedded time (B, hidden); of the time and of time 0
/// (with x_mask) t_block (B, 6 hidden) and t_block_temp (B, 3 hidden); of time 0 its embedding with
/// facts about the clip (B, hidden).
std::vector<at::Tensor> Stdit2::Layers::conditions(Stdit2Input const& input) const {
    std::int64_t const hidden = t_block.weight.size(1), batch = input.timestep.size(0);
    // Two thirds of `info` for the clip's size, one for its aspect ratio.
    at::Tensor const sides = at::stack({input.height, input.width}, 1);
    at::Tensor const sizes = csize_embedder(sides.view({-1})).view({-1, hidden / 3 * 2});
    at::Tensor const info =
        at::cat({repeated(sizes, batch), repeated(ar_embedder(input.ar), batch)}, 1);
    at::Tensor const frames = at::add(repeated(fl_embedder(input.num_frames), batch),
                                      repeated(fps_embedder(input.fps), batch));
    // The model's dtype rounds the timestep before the sinusoid, but nothing else.
    at::Tensor const timestep = input.timestep.to(t_block.weight.scalar_type());
    at::Tensor const t = t_embedder(timestep);
    std::vector<at::Tensor> made{y_embedder(input.y, input.y_mask, input.drop).tokens, t,
                                 t_block(at::silu(at::add(t, info))),
                                 t_block_temp(at::silu(at::add(t, frames)))};
    if (!input.x_mask.defined()) return made;
    at::Tensor const t0 = t_embedder(at::zeros_like(timestep));
    made.push_back(at::add(t0, info));
    made.push_back(t_block(at::silu(made.back())));
    made.push_back(t_block_temp(at::silu(at::add(t0, frames))));
    return made;
}

std::vector<StageLink::Sizes> Stdit2::Layers::condition_sizes(Stdit2Input const& input) const {
    std::int64_t const hidden = t_block.weight.size(1), batch = input.timestep.size(0);
    std::vector<StageLink::Sizes> sizes{
        {y_embedder.lengths(input.y, input.y_mask).count(), hidden}};
    for (int time = 0; time < (input.x_mask.defined() ? 2 : 1); ++time)
        for (std::int64_t const rows : {1, 6, 3}) sizes.push_back({batch, rows * hidden});
    return sizes;
}

at::Tensor Stdit2::forward(Stdit2Input const& input) const {
    auto& layers = *layers_;
    auto const options = parameters_.options();
    auto const grid = token_grid(config_, input.x);
    std::int64_t const hidden = config_.hidden_size;
    OSORA_CHECK_EQ(input.timestep.size(0), grid.batch);
    OSORA_CHECK(input.height_px > 0 && input.width_px > 0);

    StageSpan const span = layers.cut.span();
    parameters_.open_unit(0);
    Stdit2Conditioning with{
        {grid, at::Tensor(), layers.y_embedder.lengths(input.y, input.y_mask),
         rope_rotations(layers.rope_freqs, grid.frames), token_ranks_.get(),
         shared_run(sharing_.linears.get(), token_ranks_.get(), {grid.per_frame()})},
        at::Tensor()};
    StageInput from;
    if (span.first) {
        double const side_px = std::sqrt(input.height_px * input.width_px);
        double const scale = side_px / static_cast<double>(config_.input_sq_size);
        from.conditions = layers.conditions(input);
        at::Tensor const all = layers.x_embedder(input.x.to(options.dtype()), grid)
                                   .view({grid.batch, grid.frames, grid.per_frame(), hidden});
        from.x = at::add(all, layers.positions.get(grid, scale, hidden, all.options()));
        from.x = own_tokens(with.both.ranks, from.x, 2);
        from.x = own_tokens(with.both.linears.ranks, from.x, 2).contiguous();
    } else {
        from = layers.link.receive({grid.batch, grid.frames, own_count(with.both.linears), hidden},
                                   layers.condition_sizes(input), options);
    }
    auto const& of = from.conditions;
    at::Tensor const t = of[1], t0_info = input.x_mask.defined() ? of[4] : at::Tensor();
    with.both.text.tokens = of[0];
    with.both.modulation = modulation_of(of[2], 6);
    with.temporal = modulation_of(of[3], 3);
    if (input.x_mask.defined()) {
        OSORA_CHECK_EQ(input.x_mask.size(1), grid.frames);
        at::Tensor const noised = input.x_mask.view({grid.batch, grid.frames, 1, 1, 1});
        with.both.modulation = at::where(noised, with.both.modulation, modulation_of(of[5], 6));
        with.temporal = at::where(noised, with.temporal, modulation_of(of[6], 3));
    }

    at::Tensor x = from.x;
    parameters_.close_unit(0, {});
    for (auto block = span.begin; block < span.end; ++block) {
        auto const unit = static_cast<std::size_t>(block) + 1;
        parameters_.open_unit(unit);
        x = layers.blocks[unit - 1](x, with, BlockRecompute(recompute_.get(), block));
        parameters_.close_unit(unit, {x});
    }
    std::size_t const unit = layers.blocks.size() + 1;
    parameters_.open_unit(unit);
    if (!span.last) return layers.link.send(x, of);
    // The last modulation of noised frames knows the time alone, that of given ones the size too.
    x = layers.final_layer(x, t, t0_info, input.x_mask);
    parameters_.close_unit(unit, {x});
    x = all_tokens(with.both.linears.ranks, x, 2, with.both.linears.sequences[0]);
    x = all_tokens(with.both.ranks, x, 2, grid.per_frame());
    return unpatchify(x, config_, grid, input.x).to(at::kFloat);
}

}  // namespace osora::worker
