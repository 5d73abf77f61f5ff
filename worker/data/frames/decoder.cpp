// The decoder's public face: window in, RGB out.
#include "worker/data/frames/decoder.hpp"

#include "base/check.hpp"
#include "worker/data/clip_in_hand.hpp"
#include "worker/data/frames/frame_display.hpp"
#include "worker/data/frames/frame_reader.hpp"
#include "worker/data/frames/scaler.hpp"

#include <fmt/format.h>

#include <vector>

extern "C" {
#include <libavutil/log.h>
}

namespace osora::worker {

void silence_ffmpeg() {
    av_log_set_level(AV_LOG_QUIET);
}

ClipDecoder::ClipDecoder(DecodeLimits limits)
    : limits_(limits), scaler_(std::make_unique<Scaler>()) {}

ClipDecoder::~ClipDecoder() = default;

Result<ClipFacts> ClipDecoder::probe(std::string const& path) {
    ClipInHand const in_hand(path, ClipPart::headers);
    return probe_clip(path, limits_);
}

Result<ClipSurvey> ClipDecoder::survey(std::string const& path) {
    ClipInHand const in_hand(path, ClipPart::headers);
    return survey_clip(path, limits_);
}

Result<PictureSizes> ClipDecoder::probe_sizes(std::string const& path) {
    ClipInHand const in_hand(path, ClipPart::headers);
    return osora::worker::probe_sizes(path, limits_);
}

Result<void> ClipDecoder::decode(std::string const& path, FrameWindow const& window, FrameSize size,
                                 std::span<std::uint8_t> out) {
    ClipInHand const in_hand(path, ClipPart::frames);
    std::size_t const frame_bytes = static_cast<std::size_t>(size.height) * size.width * 3;
    OSORA_CHECK_EQ(out.size(), frame_bytes * static_cast<std::size_t>(window.num_frames));
    counts_ = {};
    FrameSink const sink = [&](int index, AVFrame& frame) -> Result<void> {
        auto const offset = static_cast<std::size_t>(index) * frame_bytes;
        if (index == 0) {  // before it is cropped
            OSORA_TRY(sizes_, sizes_of(frame));
        }
        return scaler_->to_rgb(frame, size, out.subspan(offset, frame_bytes));
    };
    return read_frames(path, window, limits_, counts_, sink);
}

Result<void> ClipDecoder::decode_each(std::string const& path, FrameWindow const& window,
                                      FrameSize size, EachFrame const& each) {
    ClipInHand const in_hand(path, ClipPart::frames);
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(size.height) * size.width * 3);
    counts_ = {};
    FrameSink const sink = [&](int index, AVFrame& frame) -> Result<void> {
        if (index == 0) {
            OSORA_TRY(sizes_, sizes_of(frame));
        }
        OSORA_TRY_VOID(scaler_->to_rgb(frame, size, rgb));
        each(index, rgb);
        return {};
    };
    return read_frames(path, window, limits_, counts_, sink);
}

Result<void> ClipDecoder::verify(std::string const& path, FrameWindow const& window) {
    ClipInHand const in_hand(path, ClipPart::frames);
    counts_ = {};
    return read_frames(path, window, limits_, counts_,
                       [](int, AVFrame&) { return Result<void>(); });
}

}  // namespace osora::worker
