// `osora data score`: scores of clips.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_score.hpp"
#include "worker/clips/isolate/child_reader.hpp"

namespace osora::worker {

/// Writes a row for each clip to `out` (clip_scorer.hpp); a clip that cannot be scored has empty
/// cells and an error there, and is in `damaged`. The file does not depend on the number of
/// workers. Errors: invalid_input (the request, a model's file, the manifest, an `out` with other
/// columns or of another model), busy, io, out_of_space.
/// Without a `reader` this process decodes.
[[nodiscard]] Result<protocol::ClipScores> score_clips(protocol::ClipScoreRequest const& request,
                                                       ReaderProgram const& reader = {});

}  // namespace osora::worker
