// Captions to CLIP's pooled vectors: tokenizer and text encoder from one Hugging Face folder. One
// thread.
#pragma once

#include "worker/text/clip_text_encoder.hpp"
#include "worker/text/clip_tokenizer.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace osora::worker {

class PooledEncoder {
public:
    /// `folder`: config.json, weights, vocab.json and merges.txt. Errors name the file.
    [[nodiscard]] static Result<PooledEncoder> open(std::filesystem::path const& folder,
                                                    at::TensorOptions const& options);

    /// 77 tokens, or as many as the encoder has places for.
    [[nodiscard]] PaddedTokens tokens(std::string_view text) const;

    /// -> (B, width) in the weights' type. No mask, as in Open-Sora 2.0: tokens after the end token
    /// do not affect it.
    [[nodiscard]] at::Tensor encode(std::span<PaddedTokens const> captions) const;

    [[nodiscard]] std::int64_t width() const { return encoder_.config().hidden_size; }
    /// Of tokenizer and weights: equal ones give equal vectors.
    [[nodiscard]] std::string const& fingerprint() const { return fingerprint_; }

private:
    PooledEncoder(ClipTextEncoder encoder, ClipTokenizer tokenizer)
        : encoder_(std::move(encoder)), tokenizer_(std::move(tokenizer)) {}

    ClipTextEncoder encoder_;
    ClipTokenizer tokenizer_;
    std::string fingerprint_;
};

}  // namespace osora::worker
