// Looks into the first bytes of packets. Every length comes from the file and is checked.
#include "worker/data/frames/shown_frames.hpp"

#include "worker/data/frames/entry_point.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace osora::worker {
namespace {

using PacketBytes = std::span<std::uint8_t const>;

PacketBytes bytes_of(std::uint8_t const* data, int size) {
    return std::span(data, static_cast<std::size_t>(data == nullptr || size < 0 ? 0 : size));
}

bool shows_vp9(PacketBytes frame) {
    if (frame.empty()) return false;
    // frame_marker, profile_low_bit, profile_high_bit, [reserved], show_existing_frame,
    // frame_type, show_frame
    unsigned const bits = frame[0];
    int const at = (bits & 0x30) == 0x30 ? 2 : 3;  // of show_existing_frame
    return (bits >> at & 1) != 0 || (bits >> (at - 2) & 1) != 0;
}

/// The frames of a packet: several in a superframe.
std::vector<PacketBytes> vp9_frames(PacketBytes packet) {
    std::vector<PacketBytes> frames{packet};
    if (packet.empty() || (packet.back() & 0xE0) != 0xC0) return frames;
    std::size_t const count = (packet.back() & 7u) + 1;
    std::size_t const width = (packet.back() >> 3 & 3u) + 1;  // bytes of a size
    std::size_t const index = 2 + count * width;
    if (packet.size() < index || packet[packet.size() - index] != packet.back()) return frames;
    frames.clear();
    PacketBytes const sizes = packet.subspan(packet.size() - index + 1, count * width);
    PacketBytes rest = packet.first(packet.size() - index);
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t size = 0;
        for (std::size_t k = width; k-- > 0;) size = size << 8 | sizes[i * width + k];
        size = std::min(size, rest.size());
        frames.push_back(rest.first(size));
        rest = rest.subspan(size);
    }
    return frames;
}

/// Types of the NAL units of a packet, H.264's or HEVC's.
std::vector<int> nal_types(PacketBytes packet, AVCodecParameters const& codec) {
    bool const hevc = codec.codec_id == AV_CODEC_ID_HEVC;
    PacketBytes const extra = bytes_of(codec.extradata, codec.extradata_size);
    int length_bytes = 0;
    if (!hevc) length_bytes = h264_nal_length_bytes(extra);
    if (hevc && extra.size() >= 23 && extra[0] == 1) length_bytes = (extra[21] & 3) + 1;
    std::vector<int> types;
    while (auto const nal = next_nal(packet, length_bytes)) {
        if (nal->empty()) continue;
        int const first = nal->front();
        types.push_back(hevc ? first >> 1 & 63 : first & 31);
    }
    return types;
}

bool has_any(std::vector<int> const& types, int low, int high) {
    return std::ranges::any_of(types, [&](int type) { return low <= type && type <= high; });
}

/// A group of pictures header without closed_gop (ISO/IEC 13818-2, 6.2.2.6).
bool is_open_mpeg_group(PacketBytes packet) {
    constexpr std::array<std::uint8_t, 4> kGroup{0, 0, 1, 0xB8};
    auto const found = std::ranges::search(packet, kGroup);
    return packet.end() - found.begin() < 8 || (found.begin()[7] & 0x40) == 0;
}

/// Whether pictures shown before this first keyframe may refer to what is not in the file.
bool opens_without_past(AVPacket const& packet, AVCodecParameters const& codec) {
    PacketBytes const bytes = packet_bytes(packet);
    switch (codec.codec_id) {
        case AV_CODEC_ID_H264:
            return !has_any(nal_types(bytes, codec), 5, 5);  // no IDR picture
        case AV_CODEC_ID_HEVC:
            return true;  // its leading pictures can be recognised themselves
        case AV_CODEC_ID_MPEG1VIDEO:
        case AV_CODEC_ID_MPEG2VIDEO:
            return is_open_mpeg_group(bytes);
        default:
            return false;
    }
}

bool waits_for_keyframe(AVCodecID codec) {
    return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC ||
           codec == AV_CODEC_ID_MPEG1VIDEO || codec == AV_CODEC_ID_MPEG2VIDEO;
}

bool is_entry_point(AVPacket const& packet, AVCodecParameters const& codec) {
    if ((packet.flags & AV_PKT_FLAG_KEY) == 0) return false;
    if (codec.codec_id != AV_CODEC_ID_H264) return true;
    int const length_bytes = h264_nal_length_bytes(bytes_of(codec.extradata, codec.extradata_size));
    return is_h264_entry_point(packet_bytes(packet), length_bytes);
}

}  // namespace

bool is_never_shown(AVCodecID codec, PacketBytes packet) {
    if (codec == AV_CODEC_ID_VP8) return !packet.empty() && (packet[0] & 0x10) == 0;
    if (codec != AV_CODEC_ID_VP9) return false;
    return std::ranges::none_of(vp9_frames(packet), shows_vp9);
}

bool starts_without_past(AVPacket const& first, AVCodecParameters const& codec) {
    if (!waits_for_keyframe(codec.codec_id)) return false;
    if ((first.flags & AV_PKT_FLAG_KEY) == 0) return true;
    if (codec.codec_id != AV_CODEC_ID_HEVC) return opens_without_past(first, codec);
    constexpr int kBla = 16, kBlaLast = 18, kCra = 21;  // ITU-T H.265, table 7-1
    auto const types = nal_types(packet_bytes(first), codec);
    return has_any(types, kBla, kBlaLast) || has_any(types, kCra, kCra);
}

bool ShownFrames::is_dropped(AVPacket const& packet) {
    bool const key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
    if (at_start_ && !key) return waits_for_keyframe(codec_->codec_id);
    if (at_start_) {
        at_start_ = false;
        open_ = opens_without_past(packet, *codec_);
        first_pts_ = packet.pts;
    }
    if (!open_ || packet.pts == kNoTime || packet.pts >= first_pts_) return false;
    if (codec_->codec_id != AV_CODEC_ID_HEVC) return true;
    constexpr int kRaslN = 8, kRaslR = 9;  // ITU-T H.265, table 7-1
    return has_any(nal_types(packet_bytes(packet), *codec_), kRaslN, kRaslR);
}

PacketTime ShownFrames::add(AVPacket const& packet) {
    bool const dropped = is_dropped(packet);  // sees every packet
    bool const hidden = dropped || (packet.flags & AV_PKT_FLAG_DISCARD) != 0 ||
                        is_never_shown(codec_->codec_id, packet_bytes(packet));
    return {.pts = packet.pts,
            .dts = packet.dts,
            .key = is_entry_point(packet, *codec_),
            .discard = hidden};
}

}  // namespace osora::worker
