// `osora data score`: scores of clips that need no model.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_score.hpp"

namespace osora::worker {

/// Decodes `frames` frames of every clip, evenly spread, at 256 pixels on the short side; for cuts
/// all frames, at 64. Writes a row for each clip to `out`; a clip that cannot be scored has empty
/// cells and is in `damaged`. The file does not depend on the number of workers. Errors:
/// invalid_input (the request, the manifest, an `out` with other columns), busy, io, out_of_space.
[[nodiscard]] Result<protocol::ClipScores> score_clips(protocol::ClipScoreRequest const& request);

}  // namespace osora::worker
