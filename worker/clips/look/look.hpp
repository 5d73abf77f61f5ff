// `osora data look`: a picture of samples as the trainer gets them.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_look.hpp"
#include "worker/clips/isolate/clip_child.hpp"

namespace osora::worker {

/// Reads the list, makes the buckets and the schedule of the run, and fills the first sample that
/// training takes of each chosen clip, through fill_sample() as the loader does; writes the picture
/// to `out`. A chosen clip that is left out or damaged is an answer: a grey row, and no other clip
/// in its place. Errors: invalid_input (the request, the manifest, a clip that is not in it, a
/// picture that would be too large), not_found, io and out_of_space. Samples are filled in a child
/// of `program` (`draw`), so that a crash of FFmpeg is a fault of its clip; without a program here.
[[nodiscard]] Result<protocol::ClipLook> look_clips(protocol::ClipLookRequest const& request,
                                                    ReaderProgram const& program = {});

/// `osora-clips draw`: the child, which fills and draws the samples that it is given (serve_clips).
/// Errors: io.
[[nodiscard]] Result<void> draw_clips(protocol::ClipLookRequest const& request);

}  // namespace osora::worker
