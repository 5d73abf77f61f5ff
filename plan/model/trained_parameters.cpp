// Names and sizes of parts; their sum is parameter_count(), which a test checks.
#include "plan/model/trained_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

/// Of rank 1: a column of A for each input, a row of B for each output.
struct Adapters {
    std::int64_t all = 0, shared = 0;
    Adapters operator+(Adapters const& other) const {
        return {all + other.all, shared + other.shared};
    }
};
/// Of a linear layer whose outputs tensor parallel ranks share, or whose inputs.
Adapters by_output(std::int64_t in, std::int64_t out) {
    return {in + out, out};
}
Adapters by_input(std::int64_t in, std::int64_t out) {
    return {in + out, in};
}
Adapters mlp_adapters(ModelShape const& shape) {
    std::int64_t const c = shape.hidden, wide = shape.mlp_hidden();
    return by_output(c, wide) + by_input(wide, c);
}

/// A part as the visitors below pass it on: a plan asks for sums of these tens of thousands of
/// times, so its name is put together only when it is needed.
struct PartOf {
    struct Block {
        std::string_view kind;    // "spatial_blocks."; empty: the part is outside the blocks
        int index = 0;            // among those of its kind
        std::int64_t place = -1;  // in the order of a forward pass
    } block;
    std::string_view name;
    std::int64_t parameters = 0, shared = 0;
    Adapters adapters = {};
};
using Name = fmt::basic_memory_buffer<char, 64>;

std::string_view full_name(PartOf const& part, Name& name) {
    name.clear();
    if (part.block.kind.empty()) return part.name;
    fmt::format_to(std::back_inserter(name), "{}{}.{}", part.block.kind, part.block.index,
                   part.name);
    return {name.data(), name.size()};
}

template <class Visit>
void visit_stdit_block(ModelShape const& shape, PartOf::Block block, Visit& visit) {
    std::int64_t const c = shape.hidden;
    // In output projections, whose results are summed, the bias is not shared.
    std::int64_t const shared = linear(3 * c, c) + c * c;
    std::int64_t const attention = shared + c + 2 * std::int64_t{shape.head_dim()};
    Adapters const adapters = by_output(c, 3 * c) + by_input(c, c);
    visit({block, "scale_shift_table", 6 * c});
    visit({block, "attn.", attention, shared, adapters});
    if (shape.family == ModelFamily::stdit2) {
        visit({block, "scale_shift_table_temporal", 3 * c});
        visit({block, "attn_temp.", attention, shared, adapters});
    }
    visit({block, "cross_attn.", 2 * linear(c, c) + linear(2 * c, c),
           linear(c, c) + linear(2 * c, c) + c * c,
           by_output(c, c) + by_output(c, 2 * c) + by_input(c, c)});
    visit({block, "mlp.", mlp(shape), mlp(shape) - c, mlp_adapters(shape)});
}

template <class Visit>
void visit_stdit(ModelShape const& shape, Visit& visit) {
    std::int64_t const c = shape.hidden;
    bool const stdit2 = shape.family == ModelFamily::stdit2;
    auto const outer = [&](std::string_view name, std::int64_t parameters) {
        visit({{}, name, parameters});
    };
    outer("x_embedder.", linear(c, std::int64_t{shape.in_channels} * shape.patch_volume()));
    outer("t_embedder.", scalar_embedder(c));
    outer(stdit2 ? "fl_embedder." : "fps_embedder.", scalar_embedder(c));
    outer("t_block.", linear(6 * c, c));
    outer("y_embedder.", linear(c, shape.caption_channels) + linear(c, c));
    outer("rope.", shape.head_dim() / 2);
    if (stdit2) {
        outer("t_block_temp.", linear(3 * c, c));
        outer("csize_embedder.", scalar_embedder(c / 3));
        outer("ar_embedder.", scalar_embedder(c / 3));
        outer("fps_embedder.", scalar_embedder(c));
    }
    for (int i = 0; i < shape.depth; ++i) {
        if (stdit2) {
            visit_stdit_block(shape, {"blocks.", i, i}, visit);
            continue;
        }
        visit_stdit_block(shape, {"spatial_blocks.", i, 2 * std::int64_t{i}}, visit);
        visit_stdit_block(shape, {"temporal_blocks.", i, 2 * std::int64_t{i} + 1}, visit);
    }
    std::int64_t const out = std::int64_t{shape.patch_volume()} * shape.out_channels();
    outer("final_layer.", 2 * c + linear(out, c));
}

template <class Visit>
void visit_mmdit(ModelShape const& shape, Visit& visit) {
    std::int64_t const c = shape.hidden;
    std::int64_t const wide = c + shape.mlp_hidden();
    std::int64_t const channels = std::int64_t{shape.in_channels} * shape.patch_volume();
    std::int64_t const norms = 2 * std::int64_t{shape.head_dim()};
    std::int64_t const attention = 4 * linear(c, c);
    Adapters const one = by_output(c, c), adapters = one + one + one + by_input(c, c);
    visit({{}, "img_in.", linear(c, channels)});
    visit({{}, "time_in.", scalar_embedder(c)});
    visit({{}, "vector_in.", linear(c, shape.pooled_channels) + linear(c, c)});
    visit({{}, "txt_in.", linear(c, shape.caption_channels)});
    visit({{}, "final_layer.", linear(channels, c) + linear(2 * c, c)});
    for (int i = 0; i < shape.depth; ++i) {
        auto const part = [&](std::string_view name, std::int64_t all, std::int64_t shared = 0,
                              Adapters of = {}) {
            visit({{"double_blocks.", i, i}, name, all, shared, of});
        };
        part("img_mod.", linear(6 * c, c));
        part("img_attn.", attention + norms, attention - c, adapters);
        part("img_mlp.", mlp(shape), mlp(shape) - c, mlp_adapters(shape));
        part("txt_mod.", linear(6 * c, c));
        part("txt_attn.", attention + norms, attention - c, adapters);
        part("txt_mlp.", mlp(shape), mlp(shape) - c, mlp_adapters(shape));
    }
    for (int i = 0; i < shape.single_depth; ++i) {
        auto const part = [&](std::string_view name, std::int64_t all, std::int64_t shared = 0,
                              Adapters of = {}) {
            visit({{"single_blocks.", i, std::int64_t{shape.depth} + i}, name, all, shared, of});
        };
        part("q_proj.", linear(c, c), linear(c, c), one);
        part("k_proj.", linear(c, c), linear(c, c), one);
        part("v_mlp.", linear(wide, c), linear(wide, c), by_output(c, wide));
        part("linear2.", linear(c, wide), c * wide, by_input(wide, c));
        part("norm.", norms);
        part("modulation.", linear(3 * c, c));
    }
}

/// Calls visit(PartOf) for each part, in the order of model_parts().
template <class Visit>
void visit_parts(ModelShape const& shape, Visit visit) {
    auto const each = [&](PartOf const& part) { visit(part); };
    shape.family == ModelFamily::mmdit ? visit_mmdit(shape, each) : visit_stdit(shape, each);
}

bool is_frozen(PartOf const& part, std::vector<std::string> const& freeze) {
    std::string_view const kind = part.block.kind;
    Name name;
    return std::ranges::any_of(freeze, [&](std::string const& prefix) {
        if (prefix.empty()) return false;
        if (kind.starts_with(prefix)) return true;
        return prefix.starts_with(kind) && full_name(part, name).starts_with(prefix);
    });
}

}  // namespace

std::vector<ModelPart> model_parts(ModelShape const& shape) {
    std::vector<ModelPart> parts;
    Name name;
    visit_parts(shape, [&](PartOf const& part) {
        parts.push_back({std::string{full_name(part, name)}, part.parameters, part.shared});
    });
    return parts;
}

std::int64_t frozen_parameters(ModelShape const& shape, std::vector<std::string> const& freeze) {
    if (freeze.empty()) return 0;
    std::int64_t frozen = 0;
    visit_parts(shape, [&](PartOf const& part) {
        if (is_frozen(part, freeze)) frozen += part.parameters;
    });
    return frozen;
}

namespace {

void add_part(PartOf const& part, std::vector<std::string> const& freeze, BlockParameters& sum) {
    sum.all += part.parameters;
    sum.shared += part.shared;
    sum.adapters += part.adapters.all;
    sum.shared_adapters += part.adapters.shared;
    if (is_frozen(part, freeze)) return;
    sum.trained += part.parameters;
    sum.shared_trained += part.shared;
}

}  // namespace

void BlockParameters::add(BlockParameters const& other) {
    all += other.all;
    trained += other.trained;
    shared += other.shared;
    shared_trained += other.shared_trained;
    adapters += other.adapters;
    shared_adapters += other.shared_adapters;
}

BlockParameters with_adapters(BlockParameters parameters, int lora_rank) {
    if (lora_rank == 0) return parameters;
    parameters.trained = lora_rank * parameters.adapters;
    parameters.shared_trained = lora_rank * parameters.shared_adapters;
    parameters.all += parameters.trained;
    parameters.shared += parameters.shared_trained;
    return parameters;
}

std::int64_t adapter_parameters(ModelShape const& shape, int rank) {
    return rank * parameters_of_blocks(shape, {}).adapters;
}

std::vector<BlockParameters> blocks_of(ModelShape const& shape,
                                       std::vector<std::string> const& freeze) {
    // Blocks of a kind are alike unless some are frozen: counts one of each.
    ModelShape counted = shape;
    if (freeze.empty()) {
        counted.depth = 1;
        counted.single_depth = std::min(shape.single_depth, 1);
    }
    std::vector<BlockParameters> blocks(static_cast<std::size_t>(counted.blocks()));
    visit_parts(counted, [&](PartOf const& part) {
        if (part.block.place >= 0)
            add_part(part, freeze, blocks[static_cast<std::size_t>(part.block.place)]);
    });
    if (!freeze.empty()) return blocks;
    BlockParameters const first = blocks.front(), last = blocks.back();
    blocks.assign(static_cast<std::size_t>(shape.blocks() - shape.single_depth), first);
    blocks.resize(static_cast<std::size_t>(shape.blocks()), last);
    return blocks;
}

BlockParameters parameters_of_blocks(ModelShape const& shape,
                                     std::vector<std::string> const& freeze) {
    BlockParameters sum;
    for (BlockParameters const& block : blocks_of(shape, freeze)) sum.add(block);
    return sum;
}

OuterParameters outer_parameters(ModelShape const& shape, std::vector<std::string> const& freeze) {
    ModelShape outer = shape;
    outer.depth = outer.single_depth = 0;
    OuterParameters sum;
    visit_parts(outer, [&](PartOf const& part) {
        bool const last = part.name.starts_with("final_layer.");
        (last ? sum.last : sum.first) += part.parameters;
        if (!is_frozen(part, freeze))
            (last ? sum.last_trained : sum.first_trained) += part.parameters;
    });
    return sum;
}

double frozen_linear_share(ModelShape const& shape, int lora_rank,
                           std::vector<std::string> const& freeze) {
    if (lora_rank > 0) return 1;
    if (freeze.empty()) return 0;
    double share = 0;
    auto const blocks = blocks_of(shape, freeze);
    for (BlockParameters const& block : blocks)
        share += 1 - static_cast<double>(block.shared_trained) / static_cast<double>(block.shared);
    return share / static_cast<double>(blocks.size());
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
