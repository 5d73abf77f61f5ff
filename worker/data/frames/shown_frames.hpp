// Private to worker/data: which packets give a picture that is shown. Counts then match those of
// the ffmpeg program, which shows what comes out of the decoder.
#pragma once

#include "worker/data/frames/av_handles_internal.hpp"
#include "worker/data/frames/frame_table.hpp"

#include <cstdint>
#include <span>

namespace osora::worker {

/// VP8 and VP9: pictures that others refer to and that are never shown (alternate references; RFC
/// 6386, 9.1; VP9 bitstream, 6.2 and annex B). false for every other codec.
[[nodiscard]] bool is_never_shown(AVCodecID codec, std::span<std::uint8_t const> packet);

[[nodiscard]] inline std::span<std::uint8_t const> packet_bytes(AVPacket const& packet) {
    return std::span(packet.data,
                     static_cast<std::size_t>(packet.data == nullptr ? 0 : packet.size));
}

/// Whether the file's first packet is not a keyframe, or one that pictures without their references
/// may follow: then fewer pictures come out than are in the file.
[[nodiscard]] bool starts_without_past(AVPacket const& first, AVCodecParameters const& codec);

/// Times of packets in decoding order.
class ShownFrames {
public:
    /// `from_first`: the first added packet is the first one of the file. Pictures that decoders
    /// drop there do not count: those before the first keyframe, and those shown before it that
    /// refer to others before the file ("leading", of a cut in an open group).
    ShownFrames(AVCodecParameters const& codec, bool from_first)
        : codec_(&codec), at_start_(from_first) {}

    [[nodiscard]] PacketTime add(AVPacket const& packet);

private:
    [[nodiscard]] bool is_dropped(AVPacket const& packet);

    AVCodecParameters const* codec_;
    bool at_start_;      // no keyframe yet
    bool open_ = false;  // the first keyframe may have such leading pictures
    std::int64_t first_pts_ = kNoTime;
};

}  // namespace osora::worker
