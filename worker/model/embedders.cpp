#include "worker/model/embedders.hpp"

#include "base/check.hpp"
#include "worker/memory/upload.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/where.h>

#include <array>
#include <cmath>

namespace osora::worker {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// (B, L) bool: which tokens of y (B, 1, L, C) the mask keeps; it may repeat over the batch.
at::Tensor used_tokens(at::Tensor const& y, at::Tensor const& mask) {
    std::int64_t const batch = y.size(0), tokens = y.size(2);
    OSORA_CHECK(mask.device().is_cpu(), "the text mask stays on the host: its lengths are read");
    OSORA_CHECK_EQ(batch % mask.size(0), 0);
    return mask.reshape({mask.size(0), tokens}).ne(0).repeat({batch / mask.size(0), 1});
}

}  // namespace

TokenGrid token_grid(Stdit3Config const& config, at::Tensor const& x) {
    OSORA_CHECK_EQ(x.dim(), 5);
    OSORA_CHECK_EQ(x.size(1), config.in_channels);
    auto const& patch = config.patch_size;
    return {x.size(0), ceil_div(x.size(2), patch[0]), ceil_div(x.size(3), patch[1]),
            ceil_div(x.size(4), patch[2])};
}

PatchEmbed::PatchEmbed(Parameters& parameters, Stdit3Config const& config)
    : config(config),
      weight(parameters.add("x_embedder.proj.weight",
                            {config.hidden_size, config.in_channels, config.patch_size[0],
                             config.patch_size[1], config.patch_size[2]})),
      bias(parameters.add("x_embedder.proj.bias", {config.hidden_size})) {}

at::Tensor PatchEmbed::operator()(at::Tensor const& x, TokenGrid const& grid) const {
    auto const& [pt, ph, pw] = config.patch_size;
    at::Tensor padded = x;
    std::int64_t const pad_t = grid.frames * pt - x.size(2);
    std::int64_t const pad_h = grid.rows * ph - x.size(3);
    std::int64_t const pad_w = grid.columns * pw - x.size(4);
    if (pad_t + pad_h + pad_w > 0)
        padded = at::constant_pad_nd(x, {0, pad_w, 0, pad_h, 0, pad_t}, 0);
    at::Tensor const patches = padded
                                   .reshape({grid.batch, config.in_channels, grid.frames, pt,
                                             grid.rows, ph, grid.columns, pw})
                                   .permute({0, 2, 4, 6, 1, 3, 5, 7})
                                   .reshape({grid.batch * grid.frames * grid.per_frame(),
                                             config.in_channels * config.patch_volume()});
    return at::addmm(bias, patches, weight.view({config.hidden_size, -1}).t());
}

at::Tensor sinusoid(at::Tensor const& values) {
    constexpr std::int64_t kHalf = 128;
    at::Tensor const freqs = at::exp(at::arange(kHalf, values.options().dtype(at::kFloat))
                                         .mul_(-std::log(10000.0))
                                         .div_(static_cast<double>(kHalf)));
    at::Tensor const angles = at::outer(values.to(at::kFloat), freqs);
    return at::cat({at::cos(angles), at::sin(angles)}, -1);
}

ScalarEmbed::ScalarEmbed(Parameters& parameters, std::string const& name, std::int64_t hidden)
    : first(parameters, name + ".mlp.0", 256, hidden),
      second(parameters, name + ".mlp.2", hidden, hidden) {}

at::Tensor ScalarEmbed::operator()(at::Tensor const& values) const {
    return second(at::silu(first(sinusoid(values).to(first.weight.scalar_type()))));
}

CaptionEmbed::CaptionEmbed(Parameters& parameters, Stdit3Config const& config)
    : projection(parameters, "y_embedder.y_proj", config.caption_channels, config.hidden_size,
                 config.hidden_size),
      null_caption(parameters.add("y_embedder.y_embedding",
                                  {config.model_max_length, config.caption_channels},
                                  TensorKind::buffer)) {}

PackedText CaptionEmbed::lengths(at::Tensor const& y, at::Tensor const& mask) const {
    if (!y.defined()) return {{}, {null_caption.size(0)}, true};
    OSORA_CHECK_EQ(y.dim(), 4);
    std::int64_t const batch = y.size(0), tokens = y.size(2);
    OSORA_CHECK_LE(tokens, null_caption.size(0));
    if (!mask.defined())
        return {{}, std::vector<std::int64_t>(static_cast<std::size_t>(batch), tokens), false};
    at::Tensor const counts = used_tokens(y, mask).sum(1);
    auto const* first = counts.const_data_ptr<std::int64_t>();
    return {{}, std::vector<std::int64_t>(first, first + batch), false};
}

PackedText CaptionEmbed::operator()(at::Tensor const& y, at::Tensor const& mask,
                                    at::Tensor const& drop) const {
    PackedText text = lengths(y, mask);
    if (text.shared) {
        text.tokens = projection(null_caption);
        return text;
    }
    std::int64_t const batch = y.size(0), tokens = y.size(2);
    at::Tensor captions = y.to(null_caption.scalar_type());
    if (drop.defined())
        captions =
            at::where(drop.view({batch, 1, 1, 1}), null_caption.narrow(0, 0, tokens), captions);
    text.tokens = projection(captions.reshape({batch * tokens, y.size(3)}));
    if (!mask.defined()) return text;
    at::Tensor const index = used_tokens(y, mask).view({-1}).nonzero().view({-1});
    text.tokens = text.tokens.index_select(0, uploaded(index, text.tokens.device()));
    return text;
}

at::Tensor position_frequencies(std::int64_t hidden, at::TensorOptions const& options) {
    std::int64_t const half = hidden / 2;
    return at::pow(
               10000.0,
               at::arange(0, half, 2, options.dtype(at::kFloat)).div_(static_cast<double>(half)))
        .reciprocal_()
        .to(options.dtype())
        .to(at::kFloat);
}

at::Tensor PositionTable::get(TokenGrid const& grid, double scale, std::int64_t hidden,
                              at::TensorOptions const& options) {
    Key const key{grid.rows, grid.columns, scale};
    if (auto const found = cache_.find(key); found != cache_.end()) return found->second;
    constexpr std::size_t kLimit = 256;
    if (cache_.size() >= kLimit) cache_.clear();

    auto const fp32 = options.dtype(at::kFloat);
    std::int64_t const half = hidden / 2;
    at::Tensor const inv_freq = position_frequencies(hidden, options);
    double const base_size = std::round(std::sqrt(static_cast<double>(grid.per_frame())));
    auto const encode = [&](std::int64_t count) {  // (count, half), [sin, cos]
        at::Tensor const position =
            at::arange(count, fp32).div_(scale).mul_(base_size / static_cast<double>(count));
        at::Tensor const angles = at::outer(position, inv_freq);
        return at::cat({at::sin(angles), at::cos(angles)}, -1);
    };
    std::array<std::int64_t, 3> const shape{grid.rows, grid.columns, half};
    at::Tensor const by_column = encode(grid.columns).unsqueeze(0).expand(shape);
    at::Tensor const by_row = encode(grid.rows).unsqueeze(1).expand(shape);
    at::Tensor table =
        at::cat({by_column, by_row}, -1).view({grid.per_frame(), hidden}).to(options.dtype());
    cache_[key] = table;
    return table;
}

}  // namespace osora::worker
