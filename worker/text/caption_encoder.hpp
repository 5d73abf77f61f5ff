// Captions to embeddings: tokenizer and T5 from one Hugging Face folder. Used by the encode job.
// One thread.
#pragma once

#include "worker/text/t5_encoder.hpp"
#include "worker/text/t5_tokenizer.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

struct CaptionLimits {
    std::int64_t max_tokens = 300;  // the end token included
    bool padded = false;            // all captions have max_tokens rows, and T5 gets no mask
};

/// Token ids for T5; with padding only if requested.
struct CaptionTokens {
    std::vector<std::int64_t> ids;
    bool cut = false;  // the text had more
};

class CaptionEncoder {
public:
    /// `folder`: config.json, weights and spiece.model. Errors name the file.
    [[nodiscard]] static Result<CaptionEncoder> open(std::filesystem::path const& folder,
                                                     CaptionLimits const& limits,
                                                     at::TensorOptions const& options);

    /// At least one token: the end of the text.
    [[nodiscard]] CaptionTokens tokens(std::string_view text) const;

    /// Captions of equal length -> (B, L, channels) in the weights' type.
    [[nodiscard]] at::Tensor encode(std::span<CaptionTokens const> captions) const;

    [[nodiscard]] std::int64_t channels() const { return encoder_.config().d_model; }
    [[nodiscard]] CaptionLimits const& limits() const { return limits_; }
    /// Hash of tokenizer, weights and limits: equal ones give equal embeddings.
    [[nodiscard]] std::string const& fingerprint() const { return fingerprint_; }

private:
    CaptionEncoder(T5Encoder encoder, T5Tokenizer tokenizer, CaptionLimits const& limits)
        : encoder_(std::move(encoder)), tokenizer_(std::move(tokenizer)), limits_(limits) {}

    T5Encoder encoder_;
    T5Tokenizer tokenizer_;
    CaptionLimits limits_;
    std::string fingerprint_;
};

}  // namespace osora::worker
