// Sizes of a T5 v1.1 encoder, under the names of Hugging Face's config.json. Pure data; a size that
// cannot work is an Error that names it.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string_view>

namespace osora::worker {

/// The defaults are T5 v1.1 XXL (DeepFloyd/t5-v1_1-xxl), the text encoder of Open-Sora.
struct T5Config {
    std::int64_t vocab_size = 32128;
    std::int64_t d_model = 4096;
    std::int64_t d_kv = 64;  // of one head; heads x d_kv need not be d_model
    std::int64_t d_ff = 10240;
    std::int64_t num_layers = 24;
    std::int64_t num_heads = 64;
    std::int64_t relative_attention_num_buckets = 32;
    std::int64_t relative_attention_max_distance = 128;  // tokens; farther ones share a bucket
    double layer_norm_epsilon = 1e-6;
    friend bool operator==(T5Config const&, T5Config const&) = default;
};

/// From a config.json or a case's metadata. The sizes of vocabulary, layers and heads must be
/// given; keys that do not concern the encoder's forward pass are skipped. Refuses what this
/// encoder does not compute: another model_type than t5, another feed_forward_proj than gated-gelu.
[[nodiscard]] Result<T5Config> parse_t5_config(std::string_view json);

/// invalid_input when a size cannot work.
[[nodiscard]] Result<void> check_t5_config(T5Config const& config);

}  // namespace osora::worker
