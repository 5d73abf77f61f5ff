#include "worker/model/older_weights.hpp"

#include <ATen/ops/cat.h>

#include <string_view>

namespace osora::worker {
namespace {

/// (n, channels) -> (count, channels).
at::Tensor with_rows(at::Tensor const& table, std::int64_t count) {
    std::int64_t const rows = table.size(0);
    if (rows >= count) return table.narrow(0, 0, count);
    return at::cat({table, table.narrow(0, rows - 1, 1).expand({count - rows, -1})});
}

}  // namespace

std::vector<NamedTensor> as_stdit3_weights(std::vector<NamedTensor> weights,
                                           Stdit3Config const& config) {
    constexpr std::string_view kBlocks = "blocks.";
    std::erase_if(weights, [](NamedTensor const& weight) {
        return weight.name == "pos_embed" || weight.name == "pos_embed_temporal";
    });
    for (auto& [name, tensor, kind] : weights) {
        if (name.starts_with(kBlocks)) name.insert(0, "spatial_");
        if (name == "x_embedder.proj.weight" && tensor.dim() == 4) tensor = tensor.unsqueeze(2);
        bool const captions = name == "y_embedder.y_embedding" && tensor.dim() == 2;
        if (captions && tensor.size(0) > 0) tensor = with_rows(tensor, config.model_max_length);
    }
    return weights;
}

}  // namespace osora::worker
