// The inputs that cases of text encoders have in common: in/input_ids (B, L) int64 and, where there
// is padding, in/attention_mask (B, L), or in/VARIANT/ of both. Private to worker/cases.
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

/// Refuses a train step (the encoders are never trained), what is missing, unknown or misshapen,
/// and ids outside the vocabulary; `component` begins the messages.
[[nodiscard]] Result<std::vector<TextInput>> read_text_inputs(CaseFile const& file,
                                                              std::string_view component,
                                                              TextLimits const& limits);

}  // namespace osora::worker
