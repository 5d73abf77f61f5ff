// Private to worker/data: returns the pictures of a window, decoding from the keyframe before it
// and skipping pictures that nothing else refers to. Bit-exact with decoding everything.
#pragma once

#include "worker/data/frames/av_handles_internal.hpp"
#include "worker/data/frames/clip_survey.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/frames/demux.hpp"
#include "worker/data/frames/frame_table.hpp"

#include <functional>
#include <optional>
#include <string>

namespace osora::worker {

/// `index` counts the window's frames from 0; the frame may be changed.
using FrameSink = std::function<Result<void>(int index, AVFrame& frame)>;

/// The window's frames in order, each exactly once, or an error. A damaged picture that the window
/// depends on is an error. Adds to `counts` what was done.
[[nodiscard]] Result<void> read_frames(std::string const& path, FrameWindow const& window,
                                       DecodeLimits const& limits, DecodeCounts& counts,
                                       FrameSink const& sink);

/// A decoder of one thread for a stream, opened.
[[nodiscard]] Result<CodecContext> open_codec(AVStream const& stream, DecodeLimits const& limits,
                                              CallGuard const& guard);

/// Information from the file's headers (and packets, if they must be counted).
[[nodiscard]] Result<ClipFacts> probe_clip(std::string const& path, DecodeLimits const& limits);

/// The same, and its packets.
[[nodiscard]] Result<ClipSurvey> survey_clip(std::string const& path, DecodeLimits const& limits);

/// Of its pictures only.
[[nodiscard]] Result<PictureSizes> probe_sizes(std::string const& path, DecodeLimits const& limits);

}  // namespace osora::worker
