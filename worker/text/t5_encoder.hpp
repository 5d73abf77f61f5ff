// The encoder of T5 v1.1 (Raffel et al. 2020; gated GELU, no biases, relative positions), equal to
// Hugging Face's T5EncoderModel and under its state-dict names. It is never trained: weights get no
// gradient.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/text/t5_config.hpp"

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace osora::worker {

/// Distances in tokens (key position - query position), int64 of any shape, on the CPU -> row of
/// relative_attention_bias: single distances first, then logarithmically wider buckets.
[[nodiscard]] at::Tensor t5_position_buckets(at::Tensor const& distance, std::int64_t num_buckets,
                                             std::int64_t max_distance);

class T5Encoder {
public:
    /// Weights are not initialised: load them. fp32 or bf16, any device.
    T5Encoder(T5Config const& config, at::TensorOptions const& options);

    /// ids (B, L) int64 in [0, vocab_size); mask (B, L), 0 = padding, or undefined: none ->
    /// (B, L, d_model) in the weights' dtype, ids' places of padding included. No gradient.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& ids, at::Tensor const& mask) const;

    [[nodiscard]] T5Config const& config() const { return config_; }
    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] Parameters const& parameters() const { return parameters_; }

private:
    struct Block {
        Block(Parameters& parameters, std::string const& name, T5Config const& config);
        at::Tensor attention_norm, q, k, v, o;
        at::Tensor mlp_norm, wi_0, wi_1, wo;
    };
    [[nodiscard]] at::Tensor normalised(at::Tensor const& x, at::Tensor const& weight) const;
    [[nodiscard]] at::Tensor attention(Block const& block, at::Tensor const& x,
                                       at::Tensor const& bias) const;
    [[nodiscard]] at::Tensor position_bias(std::int64_t length) const;  // (1, heads, L, L)

    T5Config config_;
    Parameters parameters_;
    at::Tensor embedding_;      // (vocab_size, d_model)
    at::Tensor position_bias_;  // (buckets, heads), of all blocks
    std::vector<Block> blocks_;
    at::Tensor final_norm_;
};

}  // namespace osora::worker
