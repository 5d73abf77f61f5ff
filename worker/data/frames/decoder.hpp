// Decodes chosen frames of one clip, resized and cropped, directly into the caller's memory. One
// thread at a time per decoder. Nothing in a file is fatal: every problem is returned as an Error.
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace osora::worker {

/// Frames [start, start + stride, ...], num_frames of them, in display order from 0.
struct FrameWindow {
    std::int64_t start = 0;
    int stride = 1;
    int num_frames = 1;
};

/// (num_frames, height, width, 3) uint8 RGB, contiguous.
struct FrameSize {
    int height = 0;
    int width = 0;
};

struct PictureSizes {
    FrameSize shown;   // as players show it: rotated, with square pixels
    FrameSize stored;  // as stored in the file
};

struct ClipFacts {
    int num_frames = 0;  // exact; 1: an image
    int height = 0;      // pixels, as players show it
    int width = 0;
    int stored_height = 0;
    int stored_width = 0;
    double fps = 0.0;  // 0: unknown
    std::string codec;
};

[[nodiscard]] inline PictureSizes sizes_of(ClipFacts const& facts) {
    return {.shown = {.height = facts.height, .width = facts.width},
            .stored = {.height = facts.stored_height, .width = facts.stored_width}};
}

struct DecodeLimits {
    double deadline_s = 30.0;                   // for one call, including file reads
    std::int64_t pixels_max = 8192ll * 4608;    // larger pictures are rejected
    std::atomic<bool> const* cancel = nullptr;  // polled; true ends the call with `cancelled`
};

/// Cost of decoding a window; for tests and benchmarks.
struct DecodeCounts {
    std::int64_t packets_read = 0;  // from where decoding starts
    std::int64_t packets_sent = 0;  // to FFmpeg's decoder
    std::int64_t frames_decoded = 0;
};

class Scaler;
struct ClipSurvey;  // worker/data/frames/clip_survey.hpp

class ClipDecoder {
public:
    explicit ClipDecoder(DecodeLimits limits = {});
    ClipDecoder(ClipDecoder const&) = delete;
    ClipDecoder& operator=(ClipDecoder const&) = delete;
    ~ClipDecoder();

    /// Reads container and stream headers, and packets only if the container does not give the
    /// number of frames.
    [[nodiscard]] Result<ClipFacts> probe(std::string const& path);

    /// What probe() reads, and the packets. The frames are counted by the same rules. Errors as
    /// decode().
    [[nodiscard]] Result<ClipSurvey> survey(std::string const& path);

    /// Headers only.
    [[nodiscard]] Result<PictureSizes> probe_sizes(std::string const& path);

    /// Fills `out` (num_frames x height x width x 3 bytes) with the window. Each picture is as a
    /// player shows it (display matrix, sample aspect ratio), cropped to the centred part with the
    /// requested aspect ratio and resized. Errors: not_found, io, corrupt (not a video, damaged,
    /// shorter than the window), timed_out, cancelled, out_of_memory (picture over pixels_max).
    [[nodiscard]] Result<void> decode(std::string const& path, FrameWindow const& window,
                                      FrameSize size, std::span<std::uint8_t> out);

    /// A picture at a time, (height, width, 3), with its index in the window: memory does not grow
    /// with the window. Where decoding starts again from an earlier keyframe, so does the index.
    using EachFrame = std::function<void(int index, std::span<std::uint8_t const> rgb)>;
    /// Errors as decode().
    [[nodiscard]] Result<void> decode_each(std::string const& path, FrameWindow const& window,
                                           FrameSize size, EachFrame const& each);

    /// Decodes the window and discards its pictures. Errors as decode().
    [[nodiscard]] Result<void> verify(std::string const& path, FrameWindow const& window);

    [[nodiscard]] DecodeCounts const& counts() const { return counts_; }

    /// For the first picture of the last decode().
    [[nodiscard]] PictureSizes const& sizes() const { return sizes_; }

private:
    DecodeLimits limits_;
    std::unique_ptr<Scaler> scaler_;  // keeps its scratch memory from clip to clip
    DecodeCounts counts_;
    PictureSizes sizes_;
};

/// Silences FFmpeg, which writes about every damaged file on stderr; errors have what matters.
/// Process-wide, so main should call it.
void silence_ffmpeg();

}  // namespace osora::worker
