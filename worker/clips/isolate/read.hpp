// `osora-clips read`: the child of child_reader.hpp.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_score.hpp"

namespace osora::worker {

/// Decodes the clips that come in on descriptor 0, a path each, and answers on 1, until the other
/// end closes. Ignores the signals by which a scheduler ends a job: the parent decides. Errors:
/// invalid_input (the request, text without Tesseract), io.
[[nodiscard]] Result<void> read_clips(protocol::ClipScoreRequest const& request);

}  // namespace osora::worker
