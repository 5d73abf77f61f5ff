#include "worker/text/t5_files.hpp"

#include "worker/model/weights/weight_files.hpp"

#include <algorithm>

namespace osora::worker {
namespace {

constexpr std::string_view kEmbedding = "shared.weight";
constexpr std::string_view kOtherName = "encoder.embed_tokens.weight";

}  // namespace

std::vector<NamedTensor> t5_encoder_tensors(std::vector<NamedTensor> const& tensors) {
    bool const shared = std::ranges::find(tensors, kEmbedding, &NamedTensor::name) != tensors.end();
    std::vector<NamedTensor> own;
    for (NamedTensor const& tensor : tensors) {
        if (tensor.name.starts_with("decoder.") || tensor.name == "lm_head.weight") continue;
        bool const other = tensor.name == kOtherName;
        if (other && shared) continue;
        own.push_back(tensor);
        if (other) own.back().name = kEmbedding;
    }
    return own;
}

Result<T5Encoder> load_t5(std::filesystem::path const& folder, at::TensorOptions const& options) {
    OSORA_TRY(auto const text, read_model_config(folder));
    auto config = parse_t5_config(text);
    if (config.has_error()) return std::move(config).error().in((folder / "config.json").string());
    OSORA_TRY(auto const weights, load_network_weights(folder));
    T5Encoder encoder(*config, options);
    auto loaded = encoder.parameters().load(t5_encoder_tensors(weights.tensors));
    if (loaded.has_error()) return std::move(loaded).error().in(folder.string());
    return encoder;
}

}  // namespace osora::worker
