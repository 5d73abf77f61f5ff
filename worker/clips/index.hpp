// `osora data index`: reads headers and packets of all clips of a manifest, once.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_index.hpp"
#include "worker/clips/isolate/clip_child.hpp"

namespace osora::worker {

/// Reads the clips that the index does not have, or that have another size or mtime, and adds them
/// to it; writes `out`. A clip that cannot be read is in `failures`, and is tried again the next
/// time. Errors: of the manifest (not_found, io, invalid_input), of the index and `out` (busy, io,
/// out_of_space, invalid_input). Clips are read in children of `program` (`survey`), one a worker,
/// so that a crash of FFmpeg is a fault of its clip; without a program here.
[[nodiscard]] Result<protocol::ClipIndex> index_clips(protocol::ClipIndexRequest const& request,
                                                      ReaderProgram const& program = {});

/// `osora-clips survey`: the child, which reads the clips that it is given (serve_clips). Errors:
/// io.
[[nodiscard]] Result<void> survey_clips(protocol::ClipIndexRequest const& request);

}  // namespace osora::worker
