// Inputs common to cases of text encoders: in/input_ids (B, L) int64 and, with padding,
// in/attention_mask (B, L), or in/VARIANT/ of both. Private to worker/cases.
#pragma once

#include "worker/cases/case_inputs.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

struct TextInput {
    std::string variant;
    at::Tensor ids;
    at::Tensor mask;  // undefined: none
};

struct TextLimits {
    std::int64_t vocab_size = 0;
    std::int64_t length_max = 0;
};

/// Rejects a train step (the encoders are never trained), missing, unknown or misshapen inputs, and
/// ids outside the vocabulary; messages begin with `component`.
[[nodiscard]] Result<std::vector<TextInput>> read_text_inputs(CaseFile const& file,
                                                              std::string_view component,
                                                              TextLimits const& limits);

}  // namespace osora::worker
