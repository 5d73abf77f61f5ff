// CLIP's text encoder as a case: component "clip_text", configuration with Hugging Face's names.
#pragma once

#include "worker/cases/case_file.hpp"

namespace osora::worker {

/// in/input_ids (B, L) int64 and, with padding, in/attention_mask (B, L), or in/VARIANT/ of both ->
/// out/last_hidden_state (B, L, hidden_size) and out/pooler_output (B, hidden_size), or of each
/// variant. It is never trained: train_step is an error.
[[nodiscard]] CaseResult run_clip_text(CaseFile const& file);

}  // namespace osora::worker
