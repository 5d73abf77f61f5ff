// Names and sizes of parts; their sum is parameter_count(), which a test checks.
#include "plan/model/trained_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace osora::plan {
namespace {

std::int64_t linear(std::int64_t out, std::int64_t in) {
    return out * in + out;
}

/// Sinusoid of 256 values -> hidden -> hidden.
std::int64_t scalar_embedder(std::int64_t hidden) {
    return linear(hidden, 256) + linear(hidden, hidden);
}

std::int64_t mlp(ModelShape const& shape) {
    return linear(shape.mlp_hidden(), shape.hidden) + linear(shape.hidden, shape.mlp_hidden());
}

void add_stdit_block(std::vector<ModelPart>& parts, ModelShape const& shape,
                     std::string const& block) {
    std::int64_t const c = shape.hidden;
    // In output projections, whose results are summed, the bias is not shared.
    std::int64_t const shared = linear(3 * c, c) + c * c;
    std::int64_t const attention = shared + c + 2 * std::int64_t{shape.head_dim()};
    parts.push_back({block + "scale_shift_table", 6 * c});
    parts.push_back({block + "attn.", attention, shared});
    if (shape.family == ModelFamily::stdit2) {
        parts.push_back({block + "scale_shift_table_temporal", 3 * c});
        parts.push_back({block + "attn_temp.", attention, shared});
    }
    parts.push_back({block + "cross_attn.", 2 * linear(c, c) + linear(2 * c, c),
                     linear(c, c) + linear(2 * c, c) + c * c});
    parts.push_back({block + "mlp.", mlp(shape), mlp(shape) - c});
}

std::vector<ModelPart> stdit_parts(ModelShape const& shape) {
    std::int64_t const c = shape.hidden;
    bool const stdit2 = shape.family == ModelFamily::stdit2;
    std::vector<ModelPart> parts{
        {"x_embedder.", linear(c, std::int64_t{shape.in_channels} * shape.patch_volume())},
        {"t_embedder.", scalar_embedder(c)},
        {stdit2 ? "fl_embedder." : "fps_embedder.", scalar_embedder(c)},
        {"t_block.", linear(6 * c, c)},
        {"y_embedder.", linear(c, shape.caption_channels) + linear(c, c)},
        {"rope.", shape.head_dim() / 2}};
    if (stdit2) {
        parts.push_back({"t_block_temp.", linear(3 * c, c)});
        parts.push_back({"csize_embedder.", scalar_embedder(c / 3)});
        parts.push_back({"ar_embedder.", scalar_embedder(c / 3)});
        parts.push_back({"fps_embedder.", scalar_embedder(c)});
    }
    for (int i = 0; i < shape.depth; ++i) {
        if (stdit2) {
            add_stdit_block(parts, shape, fmt::format("blocks.{}.", i));
            continue;
        }
        add_stdit_block(parts, shape, fmt::format("spatial_blocks.{}.", i));
        add_stdit_block(parts, shape, fmt::format("temporal_blocks.{}.", i));
    }
    std::int64_t const out = std::int64_t{shape.patch_volume()} * shape.out_channels();
    parts.push_back({"final_layer.", 2 * c + linear(out, c)});
    return parts;
}

std::vector<ModelPart> mmdit_parts(ModelShape const& shape) {
    std::int64_t const c = shape.hidden;
    std::int64_t const wide = c + shape.mlp_hidden();
    std::int64_t const channels = std::int64_t{shape.in_channels} * shape.patch_volume();
    std::int64_t const norms = 2 * std::int64_t{shape.head_dim()};
    std::vector<ModelPart> parts{{"img_in.", linear(c, channels)},
                                 {"time_in.", scalar_embedder(c)},
                                 {"vector_in.", linear(c, shape.pooled_channels) + linear(c, c)},
                                 {"txt_in.", linear(c, shape.caption_channels)},
                                 {"final_layer.", linear(channels, c) + linear(2 * c, c)}};
    for (int i = 0; i < shape.depth; ++i) {
        for (std::string_view const stream : {"img", "txt"}) {
            std::string const name = fmt::format("double_blocks.{}.{}", i, stream);
            parts.push_back({name + "_mod.", linear(6 * c, c)});
            parts.push_back({name + "_attn.", 4 * linear(c, c) + norms, 4 * linear(c, c) - c});
            parts.push_back({name + "_mlp.", mlp(shape), mlp(shape) - c});
        }
    }
    for (int i = 0; i < shape.single_depth; ++i) {
        std::string const name = fmt::format("single_blocks.{}.", i);
        parts.push_back({name + "q_proj.", linear(c, c), linear(c, c)});
        parts.push_back({name + "k_proj.", linear(c, c), linear(c, c)});
        parts.push_back({name + "v_mlp.", linear(wide, c), linear(wide, c)});
        parts.push_back({name + "linear2.", linear(c, wide), c * wide});
        parts.push_back({name + "norm.", norms});
        parts.push_back({name + "modulation.", linear(3 * c, c)});
    }
    return parts;
}

bool is_frozen(ModelPart const& part, std::vector<std::string> const& freeze) {
    return std::ranges::any_of(freeze, [&](std::string const& prefix) {
        return !prefix.empty() && part.name.starts_with(prefix);
    });
}

}  // namespace

std::vector<ModelPart> model_parts(ModelShape const& shape) {
    return shape.family == ModelFamily::mmdit ? mmdit_parts(shape) : stdit_parts(shape);
}

std::int64_t frozen_parameters(ModelShape const& shape, std::vector<std::string> const& freeze) {
    if (freeze.empty()) return 0;
    std::int64_t frozen = 0;
    for (ModelPart const& part : model_parts(shape))
        if (is_frozen(part, freeze)) frozen += part.parameters;
    return frozen;
}

namespace {

/// Its place in the order of a forward pass; none: the part is outside the blocks.
std::optional<std::int64_t> block_of(ModelShape const& shape, std::string_view part) {
    constexpr std::string_view kBlocks = "blocks.";
    auto const at = part.find(kBlocks);
    if (at == part.npos) return {};
    std::int64_t index = 0;
    std::from_chars(part.data() + at + kBlocks.size(), part.data() + part.size(), index);
    if (part.starts_with("single_")) return shape.depth + index;
    if (part.starts_with("spatial_")) return 2 * index;
    return part.starts_with("temporal_") ? 2 * index + 1 : index;
}

void add_part(ModelPart const& part, std::vector<std::string> const& freeze, BlockParameters& sum) {
    sum.all += part.parameters;
    sum.shared += part.shared;
    if (is_frozen(part, freeze)) return;
    sum.trained += part.parameters;
    sum.shared_trained += part.shared;
}

BlockParameters sum_of_blocks(ModelShape const& shape, std::vector<std::string> const& freeze,
                              std::vector<BlockSpan> const& spans) {
    BlockParameters sum;
    for (ModelPart const& part : model_parts(shape)) {
        auto const block = block_of(shape, part.name);
        if (!block || std::ranges::none_of(spans, [&](BlockSpan const& span) {
                return span.begin <= *block && *block < span.end;
            }))
            continue;
        add_part(part, freeze, sum);
    }
    return sum;
}

}  // namespace

BlockParameters parameters_of_blocks(ModelShape const& shape,
                                     std::vector<std::string> const& freeze) {
    return parameters_of_blocks(shape, freeze, {{0, shape.blocks()}});
}

BlockParameters parameters_of_blocks(ModelShape const& shape,
                                     std::vector<std::string> const& freeze,
                                     std::vector<BlockSpan> const& spans) {
    if (!freeze.empty()) return sum_of_blocks(shape, freeze, spans);
    // Blocks of a kind are alike: counts one of each, because the planner calls this often.
    ModelShape one = shape;
    one.depth = 1;
    one.single_depth = shape.single_depth > 0 ? 1 : 0;
    std::int64_t const blocks = shape.blocks();
    BlockSpan const single{blocks - shape.single_depth, blocks};
    std::int64_t all = 0, shared = 0;
    BlockParameters const of_first = sum_of_blocks(one, {}, {{0, 1}});
    BlockParameters of_single;
    if (shape.single_depth > 0) of_single = sum_of_blocks(one, {}, {{1, 2}});
    for (BlockSpan const& span : spans) {
        std::int64_t const singles = span.common(single);
        std::int64_t const others = span.common({0, single.begin});
        all += others * of_first.all + singles * of_single.all;
        shared += others * of_first.shared + singles * of_single.shared;
    }
    return {.all = all, .trained = all, .shared = shared, .shared_trained = shared};
}

std::vector<BlockParameters> blocks_of(ModelShape const& shape,
                                       std::vector<std::string> const& freeze) {
    std::vector<BlockParameters> blocks(static_cast<std::size_t>(shape.blocks()));
    for (ModelPart const& part : model_parts(shape))
        if (auto const block = block_of(shape, part.name))
            add_part(part, freeze, blocks[static_cast<std::size_t>(*block)]);
    return blocks;
}

OuterParameters outer_parameters(ModelShape const& shape, std::vector<std::string> const& freeze) {
    ModelShape outer = shape;
    outer.depth = outer.single_depth = 0;
    OuterParameters sum;
    for (ModelPart const& part : model_parts(outer)) {
        bool const last = part.name.starts_with("final_layer.");
        (last ? sum.last : sum.first) += part.parameters;
        if (!is_frozen(part, freeze))
            (last ? sum.last_trained : sum.first_trained) += part.parameters;
    }
    return sum;
}

bool has_frozen_blocks(ModelShape const& shape, int lora_rank,
                       std::vector<std::string> const& freeze) {
    if (lora_rank > 0) return true;
    BlockParameters const blocks = parameters_of_blocks(shape, freeze);
    return blocks.trained < blocks.all;
}

std::int64_t trained_parameters(ModelShape const& shape, int lora_rank,
                                std::vector<std::string> const& freeze) {
    if (lora_rank > 0) return adapter_parameters(shape, lora_rank);
    return parameter_count(shape).parameters - frozen_parameters(shape, freeze);
}

}  // namespace osora::plan
