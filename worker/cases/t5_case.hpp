// The T5 encoder as a case: component "t5", configuration with Hugging Face's names.
#pragma once

#include "worker/cases/case_file.hpp"

namespace osora::worker {

/// in/input_ids (B, L) int64 and, with padding, in/attention_mask (B, L), or in/VARIANT/ of both ->
/// out/last_hidden_state (B, L, d_model), or of each variant. It is never trained: train_step is an
/// error.
[[nodiscard]] CaseResult run_t5(CaseFile const& file);

}  // namespace osora::worker
