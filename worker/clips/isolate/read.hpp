// `osora-clips read`: the child of child_reader.hpp.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_score.hpp"

namespace osora::worker {

/// Decodes a clip for each path that it is given (serve_clips). Errors: invalid_input (the request,
/// text without Tesseract), io.
[[nodiscard]] Result<void> read_clips(protocol::ClipScoreRequest const& request);

}  // namespace osora::worker
