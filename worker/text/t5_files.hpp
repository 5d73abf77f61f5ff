// T5 encoders from Hugging Face folders: config.json and model.safetensors, or shards listed in
// model.safetensors.index.json.
#pragma once

#include "worker/model/weights/safetensors.hpp"
#include "worker/text/t5_encoder.hpp"

#include <filesystem>
#include <vector>

namespace osora::worker {

/// The encoder's own tensors of a checkpoint: without the decoder's and the head's, and without
/// encoder.embed_tokens.weight, another name of shared.weight (used if that is missing).
[[nodiscard]] std::vector<NamedTensor> t5_encoder_tensors(std::vector<NamedTensor> const& tensors);

/// Errors name the file, and the tensors that are missing or do not fit.
[[nodiscard]] Result<T5Encoder> load_t5(std::filesystem::path const& folder,
                                        at::TensorOptions const& options);

}  // namespace osora::worker
