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
    Layers(Parameters& parameters, Stdit3Config const& config, LayerRanks const& sharing)
        : cut(sharing.stages.get(), 2 * config.depth, sharing.run_ends),
          link(sharing.stages.get()),
          x_embedder(parameters.set_place(cut.place_of_first()), config),
          t_embedder(parameters, "t_embedder", config.hidden_size),
          fps_embedder(parameters, "fps_embedder", config.hidden_size),
          t_block(parameters, "t_block.1", config.hidden_size, 6 * config.hidden_size),
          y_embedder(parameters, config),
          rope_freqs(rope_of(parameters, config)),
          blocks(make_blocks(parameters, config, cut)),
          final_layer(parameters, config) {}

    static at::Tensor rope_of(Parameters& parameters, Stdit3Config const& config) {
        return parameters.set_place(Place::every_rank)
            .add("rope.freqs", {config.head_dim() / 2}, TensorKind::frozen);
    }

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
        parameters.set_place(cut.place_of_last());
        parameters.enter_unit(1 + blocks.size());
        return blocks;
    }

    /// Captions (sum of lengths, hidden); of the time, and with x_mask of time 0: the embedding
    /// (B, hidden) and t_block of it (B, 6 hidden).
    [[nodiscard]] std::vector<at::Tensor> conditions(Stdit3Input const& input) const {
        // The model's dtype rounds the timestep before the sinusoid, but not fps.
        at::Tensor const timestep = input.timestep.to(rope_freqs.scalar_type());
        std::int64_t const batch = timestep.size(0);
        at::Tensor fps = fps_embedder(input.fps);
        OSORA_CHECK_EQ(batch % fps.size(0), 0);
        if (fps.size(0) != batch) fps = fps.repeat({batch / fps.size(0), 1});
        std::vector<at::Tensor> made{y_embedder(input.y, input.y_mask, input.drop).tokens};
        auto const add_time = [&](at::Tensor const& time) {
            at::Tensor const t = at::add(t_embedder(time), fps);
            made.push_back(t);
            made.push_back(t_block(at::silu(t)));
        };
        add_time(timestep);
        if (input.x_mask.defined()) add_time(at::zeros_like(timestep));
        return made;
    }

    [[nodiscard]] std::vector<StageLink::Sizes> condition_sizes(Stdit3Input const& input) const {
        std::int64_t const batch = input.timestep.size(0), hidden = t_block.weight.size(1);
        std::vector<StageLink::Sizes> sizes{
            {y_embedder.lengths(input.y, input.y_mask).count(), hidden}};
        for (int time = 0; time < (input.x_mask.defined() ? 2 : 1); ++time) {
            sizes.push_back({batch, hidden});
            sizes.push_back({batch, 6 * hidden});
        }
        return sizes;
    }

    StageCut cut;  // of the blocks
    StageLink link;
    PatchEmbed x_embedder;
    ScalarEmbed t_embedder, fps_embedder;
    Linear t_block;
    CaptionEmbed y_embedder;
    at::Tensor rope_freqs;      // (head_dim / 2)
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
    layers_ = std::make_unique<Layers>(parameters_, config_, sharing_);
}
Stdit3::~Stdit3() = default;
Stdit3::Stdit3(Stdit3&&) noexcept = default;
Stdit3& Stdit3::operator=(Stdit3&&) noexcept = default;

at::Tensor Stdit3::forward(Stdit3Input const& input) const {
    auto& layers = *layers_;
    auto const options = parameters_.options();
    auto const grid = token_grid(config_, input.x);
    std::int64_t const hidden = config_.hidden_size;
    OSORA_CHECK_EQ(input.timestep.size(0), grid.batch);
    OSORA_CHECK(input.height_px > 0 && input.width_px > 0);

    StageSpan const span = layers.cut.span();
    parameters_.open_unit(0);
    Conditioning with{grid,
                      at::Tensor(),
                      layers.y_embedder.lengths(input.y, input.y_mask),
                      rope_rotations(layers.rope_freqs, grid.frames),
                      token_ranks_.get(),
                      shared_run(sharing_.linears.get(), token_ranks_.get(), {grid.per_frame()})};
    StageInput from;
    if (span.first) {
        double const side_px = std::sqrt(input.height_px * input.width_px);
        double const scale = side_px / static_cast<double>(config_.input_sq_size);
        from.conditions = layers.conditions(input);
        at::Tensor const all = layers.x_embedder(input.x.to(options.dtype()), grid)
                                   .view({grid.batch, grid.frames, grid.per_frame(), hidden});
        from.x = at::add(all, layers.positions.get(grid, scale, hidden, all.options()));
        from.x = own_tokens(with.ranks, from.x, 2);
        from.x = own_tokens(with.linears.ranks, from.x, 2).contiguous();
    } else {
        from = layers.link.receive({grid.batch, grid.frames, own_count(with.linears), hidden},
                                   layers.condition_sizes(input), options);
    }
    auto const& of = from.conditions;
    with.text.tokens = of[0];
    at::Tensor const t = of[1], t0 = input.x_mask.defined() ? of[3] : at::Tensor();
    auto const modulation_of = [&](at::Tensor const& made) {
        return at::add(made.view({grid.batch, 1, 6, 1, hidden}), modulation_offset(options));
    };
    with.modulation = modulation_of(of[2]);
    if (input.x_mask.defined()) {
        OSORA_CHECK_EQ(input.x_mask.size(1), grid.frames);
        at::Tensor const noised = input.x_mask.view({grid.batch, grid.frames, 1, 1, 1});
        with.modulation = at::where(noised, with.modulation, modulation_of(of[4]));
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
    x = layers.final_layer(x, t, t0, input.x_mask);
    parameters_.close_unit(unit, {x});
    x = all_tokens(with.linears.ranks, x, 2, with.linears.sequences[0]);
    x = all_tokens(with.ranks, x, 2, grid.per_frame());
    return unpatchify(x, config_, grid, input.x).to(at::kFloat);
}

}  // namespace osora::worker
