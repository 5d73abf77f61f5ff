// The output of a tokenizer for an encoder. No LibTorch.
#pragma once

#include <cstdint>
#include <vector>

namespace osora::worker {

/// A caption of a fixed number of tokens, as the encoder wants it.
struct PaddedTokens {
    std::vector<std::int64_t> ids;   // the tokenizer's padding after the end
    std::vector<std::int64_t> mask;  // 1: token, 0: padding
    bool cut = false;                // the text was longer
};

}  // namespace osora::worker
