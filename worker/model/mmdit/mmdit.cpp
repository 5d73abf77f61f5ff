#include "worker/model/mmdit/mmdit.hpp"

#include "base/check.hpp"
#include "worker/model/embedders.hpp"
#include "worker/model/mmdit/mmdit_block.hpp"
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
    Layers(Parameters& parameters, MmditConfig const& config, LayerRanks const& sharing)
        : cut(sharing.stages.get(), config.depth + config.depth_single_blocks, sharing.run_ends),
          link(sharing.stages.get()),
          img_in(parameters.set_place(cut.place_of_first()), "img_in", config.in_channels,
                 config.hidden_size),
          time_in(parameters, "time_in", 256, config.hidden_size),
          vector_in(parameters, "vector_in", config.vec_in_dim, config.hidden_size) {
        std::int64_t const hidden = config.hidden_size;
        if (config.guidance_embed) guidance_in.emplace(parameters, "guidance_in", 256, hidden);
        if (config.cond_embed)
            cond_in.emplace(parameters, "cond_in", config.cond_channels(), hidden);
        txt_in.emplace(parameters, "txt_in", config.context_in_dim, hidden);
        std::size_t unit = 0;
        auto const enter_block = [&] {
            parameters.set_place(cut.place_of(static_cast<std::int64_t>(unit)));
            parameters.enter_unit(++unit);
        };
        for (std::int64_t i = 0; i < config.depth; ++i) {
            enter_block();
            double_blocks.emplace_back(parameters, fmt::format("double_blocks.{}", i), config);
        }
        for (std::int64_t i = 0; i < config.depth_single_blocks; ++i) {
            enter_block();
            single_blocks.emplace_back(parameters, fmt::format("single_blocks.{}", i), config);
        }
        parameters.set_place(cut.place_of_last());
        parameters.enter_unit(++unit);
        final_linear.emplace(parameters, "final_layer.linear", hidden, config.in_channels);
        final_modulation.emplace(parameters, "final_layer.adaLN_modulation.1", hidden, 2 * hidden);
    }

    /// (B, hidden): SiLU of the embedded time, pooled captions and guidance.
    [[nodiscard]] at::Tensor condition(MmditInput const& input) const {
        auto const dtype = img_in.weight.scalar_type();
        at::Tensor vec = time_in(scalar_sinusoid(input.timesteps.to(dtype)));
        if (guidance_in)
            vec = at::add(vec, (*guidance_in)(scalar_sinusoid(input.guidance.to(dtype))));
        return at::silu(at::add(vec, vector_in(input.y_vec.to(dtype))));
    }

    StageCut cut;  // of all blocks
    StageLink link;
    Linear img_in;
    VectorEmbed time_in, vector_in;
    std::optional<VectorEmbed> guidance_in;
    std::optional<Linear> cond_in;
    std::optional<Linear> txt_in;
    std::vector<DoubleBlock> double_blocks;
    std::vector<SingleBlock> single_blocks;
    std::optional<Linear> final_linear, final_modulation;
};

Mmdit::Mmdit(MmditConfig const& config, at::TensorOptions options, LayerRanks sharing)
    : config_(config),
      parameters_(options, share_of(sharing.linears.get())),
      sharing_(std::move(sharing)) {
    OSORA_CHECK(check_mmdit_config(config).has_value());
    parameters_.delay_memory(sharing_.delays_memory);
    layers_ = std::make_unique<Layers>(parameters_, config_, sharing_);
}
Mmdit::~Mmdit() = default;
Mmdit::Mmdit(Mmdit&&) noexcept = default;
Mmdit& Mmdit::operator=(Mmdit&&) noexcept = default;

at::Tensor Mmdit::forward(MmditInput const& input) const {
    auto& layers = *layers_;
    auto const dtype = parameters_.options().dtype();
    OSORA_CHECK_EQ(input.cond.defined(), config_.cond_embed);
    OSORA_CHECK_EQ(input.guidance.defined(), config_.guidance_embed);
    auto const run = [&](at::Tensor const& x) { return own_tokens(token_ranks_.get(), x, 1); };
    auto const own = [&](at::Tensor const& x) {
        return own_tokens(sharing_.linears.get(), run(x), 1);
    };
    SharedTokens shared{token_ranks_.get(), {input.txt.size(1), input.img.size(1)}};
    SharedTokens linears = shared_run(sharing_.linears.get(), shared.ranks, shared.sequences);

    StageSpan const span = layers.cut.span();
    parameters_.open_unit(0);
    at::Tensor img, txt, x;  // x: text and image, from the first single block on
    at::Tensor silu_vec;
    std::int64_t const hidden = config_.hidden_size,
                       text_tokens = own_count({linears.ranks, {linears.sequences[0]}});
    if (span.first) {
        img = layers.img_in.over(own(input.img).to(dtype));
        if (config_.cond_embed) img = at::add(img, layers.cond_in->over(own(input.cond).to(dtype)));
        txt = layers.txt_in->over(own(input.txt).to(dtype));
        silu_vec = layers.condition(input);
    } else {
        std::int64_t const batch = input.img.size(0);
        StageInput const from = layers.link.receive({batch, own_count(linears), hidden},
                                                    {{batch, hidden}}, parameters_.options());
        x = from.x;
        silu_vec = from.conditions[0];
    }
    if (x.defined() && span.begin < config_.depth) {
        auto const parts = x.split_with_sizes({text_tokens, x.size(1) - text_tokens}, 1);
        std::tie(txt, img, x) = std::tuple(parts[0], parts[1], at::Tensor());
    }

    at::Tensor const ids = at::cat({run(input.txt_ids), run(input.img_ids)}, 1).to(dtype);
    auto const layout = config_.use_liger_rope ? RopeLayout::halves : RopeLayout::pairs;
    MmditConditioning const with{silu_vec, axes_rope(ids, config_.axes_dim, config_.theta, layout),
                                 std::move(shared), std::move(linears)};
    parameters_.close_unit(0, {});
    std::int64_t const doubles = config_.depth;
    for (auto block = span.begin; block < span.end; ++block) {
        auto const index = static_cast<std::size_t>(block);
        BlockRecompute const recompute(recompute_.get(), block);
        parameters_.open_unit(index + 1);
        if (block < doubles) {
            std::tie(img, txt) = layers.double_blocks[index](img, txt, with, recompute);
            parameters_.close_unit(index + 1, {img, txt});
            continue;
        }
        if (!x.defined()) x = at::cat({txt, img}, 1);
        x = layers.single_blocks[index - layers.double_blocks.size()](x, with, recompute);
        parameters_.close_unit(index + 1, {x});
    }
    if (!x.defined()) x = at::cat({txt, img}, 1);
    auto const unit = static_cast<std::size_t>(doubles + config_.depth_single_blocks) + 1;
    parameters_.open_unit(unit);
    if (!span.last) return layers.link.send(x, {silu_vec});
    x = x.narrow(1, text_tokens, x.size(1) - text_tokens);
    auto const rows = (*layers.final_modulation)(with.silu_vec).unsqueeze(1).chunk(2, -1);
    at::Tensor const out = layers.final_linear->over(modulated(x, rows[0], rows[1].add(1)));
    parameters_.close_unit(unit, {out});
    at::Tensor const of_run = all_tokens(with.linears.ranks, out, 1, with.linears.sequences[1]);
    return all_tokens(with.shared.ranks, of_run, 1, input.img.size(1));
}

}  // namespace osora::worker
