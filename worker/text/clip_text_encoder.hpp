// CLIP's text encoder (Radford et al. 2021), equal to Hugging Face's CLIPTextModel, under the names
// of the files on its hub ("text_model.encoder.layers.0.self_attn.q_proj.weight"). It is never
// trained: weights get no gradient.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/text/clip_text_config.hpp"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

struct ClipText {
    at::Tensor hidden;  // (B, L, hidden_size), after the last layer norm
    at::Tensor pooled;  // (B, hidden_size): `hidden` at the end token
};

class ClipTextEncoder {
public:
    /// Weights are not initialised: load them. fp32 or bf16, any device.
    ClipTextEncoder(ClipTextConfig const& config, at::TensorOptions const& options);

    /// ids (B, L) int64 in [0, vocab_size), L <= max_position_embeddings; mask (B, L), 0 = padding,
    /// or undefined: none. A text without an end token is pooled at its first token. No gradient.
    [[nodiscard]] ClipText operator()(at::Tensor const& ids, at::Tensor const& mask) const;

    [[nodiscard]] ClipTextConfig const& config() const { return config_; }
    [[nodiscard]] Parameters& parameters() { return parameters_; }

private:
    struct Affine {  // of a linear layer or of a layer norm
        at::Tensor weight, bias;
    };
    struct Layer {
        Affine attention_norm, q, k, v, out, mlp_norm, fc1, fc2;
    };
    [[nodiscard]] Affine affine(std::string const& name, at::IntArrayRef weight_shape);
    [[nodiscard]] Layer layer(std::string const& name);
    [[nodiscard]] at::Tensor normalised(at::Tensor const& x, Affine const& norm) const;
    [[nodiscard]] at::Tensor attention(Layer const& layer, at::Tensor const& x,
                                       at::Tensor const& bias) const;
    [[nodiscard]] at::Tensor mlp(Layer const& layer, at::Tensor const& x) const;
    [[nodiscard]] at::Tensor end_places(at::Tensor const& ids) const;  // (B)

    ClipTextConfig config_;
    Parameters parameters_;
    at::Tensor token_embedding_, position_embedding_;
    std::vector<Layer> layers_;
    Affine final_norm_;
};

/// The text encoder's own among the tensors of a CLIP: those called text_model.*, without the
/// buffer of position numbers that old files have.
[[nodiscard]] std::vector<NamedTensor> clip_text_tensors(std::vector<NamedTensor> const& tensors);

/// From a Hugging Face folder. Errors name the file, and the tensors that are missing or do not
/// match.
[[nodiscard]] Result<ClipTextEncoder> load_clip_text(std::filesystem::path const& folder,
                                                     at::TensorOptions const& options);

}  // namespace osora::worker
