#include "worker/model/weights/older_weights.hpp"

#include <ATen/ops/cat.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace osora::worker {
namespace {

constexpr std::string_view kCaptions = "y_embedder.y_embedding";
constexpr std::string_view kPatches = "x_embedder.proj.weight";

/// (n, channels) -> (count, channels).
at::Tensor with_rows(at::Tensor const& table, std::int64_t count) {
    std::int64_t const rows = table.size(0);
    if (rows >= count) return table.narrow(0, 0, count);
    return at::cat({table, table.narrow(0, rows - 1, 1).expand({count - rows, -1})});
}

/// What both networks ask of every file.
ConvertedWeights reparametered(std::vector<NamedTensor> weights, Stdit3Config const& config) {
    ConvertedWeights made{std::move(weights), false, {}};
    auto const left_out = std::erase_if(made.weights, [](NamedTensor const& weight) {
        return weight.name == "pos_embed" || weight.name == "pos_embed_temporal";
    });
    if (left_out > 0) made.notices.emplace_back("tables of positions are left out");
    made.older = left_out > 0;
    for (auto& [name, tensor, kind] : made.weights) {
        if (name == kPatches && tensor.dim() == 4) {
            tensor = tensor.unsqueeze(2);
            made.older = true;
        }
        bool const captions = name == kCaptions && tensor.dim() == 2 && tensor.size(0) > 0;
        if (!captions || tensor.size(0) == config.model_max_length) continue;
        made.notices.push_back(fmt::format(
            "{} has {} rows, the network {}: it is {}", name, tensor.size(0),
            config.model_max_length,
            tensor.size(0) > config.model_max_length ? "cut" : "continued with its last row"));
        tensor = with_rows(tensor, config.model_max_length);
    }
    return made;
}

/// "blocks.*.attn_temp.*" for "blocks.3.attn_temp.qkv.bias"; empty: PixArt has it.
std::string_view newer_part(std::string_view name) {
    auto const has = [&](std::string_view part) { return name.find(part) != name.npos; };
    if (has("q_norm.") || has("k_norm.")) return "norms of q and k";
    if (name.starts_with("temporal_blocks.")) return "temporal_blocks.*";
    if (has(".attn_temp.")) return "blocks.*.attn_temp.*";
    if (has(".scale_shift_table_temporal")) return "blocks.*.scale_shift_table_temporal";
    for (std::string_view const part : {"t_block_temp.", "fl_embedder.", "fps_embedder.",
                                        "csize_embedder.", "ar_embedder.", "rope."}) {
        if (name.starts_with(part)) return part;
    }
    return {};
}

}  // namespace

ConvertedWeights as_stdit3_weights(std::vector<NamedTensor> weights, Stdit3Config const& config) {
    constexpr std::string_view kBlocks = "blocks.";
    ConvertedWeights made = reparametered(std::move(weights), config);
    for (auto& weight : made.weights) {
        if (!weight.name.starts_with(kBlocks)) continue;
        weight.name.insert(0, "spatial_");
        made.older = true;
    }
    if (!made.older) return made;
    auto const sizes = std::erase_if(made.weights, [](NamedTensor const& weight) {
        return weight.name.starts_with("csize_embedder.") ||
               weight.name.starts_with("ar_embedder.");
    });
    if (sizes > 0) made.notices.emplace_back("csize_embedder.* and ar_embedder.* are left out");
    return made;
}

ConvertedWeights as_stdit2_weights(std::vector<NamedTensor> weights, Stdit2Config const& config) {
    return reparametered(std::move(weights), config);
}

void keep_initial(ConvertedWeights& converted, Parameters const& network) {
    if (!converted.older) return;
    std::set<std::string_view> there, given_parts;
    for (auto const& weight : converted.weights) {
        there.insert(weight.name);
        given_parts.insert(newer_part(weight.name));
    }
    std::map<std::string_view, std::int64_t> kept;  // tensors by part
    std::vector<NamedTensor> added;
    for (auto const& own : network.all()) {
        std::string_view const part = newer_part(own.name);
        if (part.empty() || there.contains(own.name) || given_parts.contains(part)) continue;
        added.push_back({own.name, own.tensor.detach(), own.kind});
        ++kept[part];
    }
    std::ranges::move(added, std::back_inserter(converted.weights));
    if (kept.empty()) return;
    std::vector<std::string> parts;
    for (auto const& [part, count] : kept) {
        parts.push_back(fmt::format("{}{} ({})", part, part.ends_with('.') ? "*" : "", count));
    }
    converted.notices.push_back(
        fmt::format("initial values stay in {} (tensors)", fmt::join(parts, ", ")));
}

}  // namespace osora::worker
