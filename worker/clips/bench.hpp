// `osora data bench`: the cost of decoding a manifest's clips on this machine.
#pragma once

#include "base/result.hpp"
#include "protocol/clip_requests.hpp"

namespace osora::worker {

/// Decodes frames start, start + stride, ... of every clip, each picture cropped to its centred
/// part with the requested aspect ratio and resized. `sha256` is of the RGB bytes, (num_frames,
/// height, width, 3) per clip, in the order of the manifest. CPU time is user and system time of
/// the process since its start without the hashing. Errors: invalid_input (an impossible request or
/// manifest, no clip is long enough), corrupt and so on naming the first clip that does not decode.
[[nodiscard]] Result<protocol::ClipBench> bench_clips(protocol::ClipBenchRequest const& request);

}  // namespace osora::worker
