// `osora data check`: finds clips of a manifest that training could not use, before it needs them.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_requests.hpp"
#include "worker/clips/isolate/clip_child.hpp"

namespace osora::worker {

/// Opens every clip and decodes its first, middle and last frame, or all of them (`full`). A row
/// with more frames than its file, or another size than players show, is also damaged. `damaged` is
/// in the order of the manifest and does not depend on the number of workers. Errors: not_found,
/// io, invalid_input (of the manifest itself or of the request). Clips are decoded in children of
/// `program` (`verify`), one a worker, so that a crash of FFmpeg is a fault of its clip; without a
/// program here.
[[nodiscard]] Result<protocol::ClipCheck> check_clips(protocol::ClipCheckRequest const& request,
                                                      ReaderProgram const& program = {});

/// `osora-clips verify`: the child, which checks the clips that it is given (serve_clips). Errors:
/// invalid_input (the request), io.
[[nodiscard]] Result<void> verify_clips(protocol::ClipCheckRequest const& request);

}  // namespace osora::worker
