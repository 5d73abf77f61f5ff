// Sizes of CLIP's text encoder, under the names of Hugging Face's config.json. Pure data; a size
// that cannot work is an Error that names it.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string_view>

namespace osora::worker {

/// The defaults are those of Hugging Face's CLIPTextConfig, which files may leave out. CLIP-L
/// (openai/clip-vit-large-patch14), the pooled encoder of Open-Sora 2.0, has 768, 3072, 12, 12.
struct ClipTextConfig {
    std::int64_t vocab_size = 49408;
    std::int64_t hidden_size = 512;
    std::int64_t intermediate_size = 2048;
    std::int64_t num_hidden_layers = 12;
    std::int64_t num_attention_heads = 8;
    std::int64_t max_position_embeddings = 77;
    std::int64_t eos_token_id = 49407;  // 2: an old file; the end token is then the largest id
    double layer_norm_eps = 1e-5;
    bool quick_gelu = true;  // hidden_act: x sigmoid(1.702 x); else the exact GELU

    [[nodiscard]] std::int64_t head_dim() const { return hidden_size / num_attention_heads; }
    friend bool operator==(ClipTextConfig const&, ClipTextConfig const&) = default;
};

/// From a config.json (its "text_config" where it is one of a whole CLIP) or a case's metadata;
/// keys that do not concern the forward pass are skipped. Refuses another hidden_act than
/// quick_gelu and gelu.
[[nodiscard]] Result<ClipTextConfig> parse_clip_text_config(std::string_view json);

/// invalid_input or not_divisible when a size cannot work.
[[nodiscard]] Result<void> check_clip_text_config(ClipTextConfig const& config);

}  // namespace osora::worker
