// Device memory that a GPT's tensors occupy at the peak of a step, on the fullest rank. Pure.
// docs/rfc/027 says which tensors are counted and how far published peaks are met.
#pragma once

#include "plan/evaluate/rows.hpp"

namespace osora::plan {

/// Bytes of weights, gradients, optimizer, activations, logits and buffers.
[[nodiscard]] double gpt_memory_bytes(EvaluateRow const& row);

/// Bytes that one layer keeps for backward of one micro-batch on one rank (arXiv 2205.05198, table
/// 2, without the scores if attention is fused; gated layers without dropout).
[[nodiscard]] double layer_activation_bytes(EvaluateRow const& row);

}  // namespace osora::plan
