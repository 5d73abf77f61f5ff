// Reads what a file says about its video. Decodes nothing except a picture that is the whole clip,
// and clips whose packets do not show how many pictures come out.
#include "worker/data/frames/frame_display.hpp"
#include "worker/data/frames/frame_reader.hpp"
#include "worker/data/frames/h264_ratio.hpp"
#include "worker/data/frames/shown_frames.hpp"
#include "worker/data/frames/window_start.hpp"

#include <algorithm>
#include <span>

namespace osora::worker {
namespace {

using Packets = std::vector<SurveyedPacket>;

int count_index(AVStream* stream, Packets* packets) {
    int count = 0;
    int const entries = avformat_index_get_entries_count(stream);
    for (int i = 0; i < entries; ++i) {
        AVIndexEntry const* entry = avformat_index_get_entry(stream, i);
        if (entry == nullptr) continue;
        if (is_shown(*entry)) ++count;
        if (packets == nullptr) continue;
        packets->push_back({.time = {.pts = kNoTime,
                                     .dts = entry->timestamp,
                                     .key = (entry->flags & AVINDEX_KEYFRAME) != 0,
                                     .discard = !is_shown(*entry)},
                            .position = entry->pos});
    }
    return count;
}

Result<int> count_packets(Demuxer& demuxer, AVPacket& packet, Packets* packets) {
    OSORA_TRY_VOID(demuxer.rewind());
    ShownFrames shown(*demuxer.stream()->codecpar, /*from_first=*/true);
    int count = 0;
    for (;;) {
        OSORA_TRY(bool const more, demuxer.read(packet));
        if (!more) break;
        PacketTime const time = shown.add(packet);
        if (!time.discard) ++count;
        if (packets != nullptr) packets->push_back({.time = time, .position = packet.pos});
    }
    if (count == 0) return Error{Errc::corrupt, "read: no frame in it"};
    return count;
}

/// Adds the packets to `packets`, if there is one.
Result<int> count_frames(Demuxer& demuxer, Packets* packets) {
    Packet const packet(av_packet_alloc());
    if (!packet) return Error{Errc::out_of_memory, "read: no memory"};
    if (demuxer.has_index()) {
        OSORA_TRY(bool const counts, index_counts(demuxer, *packet));
        if (counts) return count_index(demuxer.stream(), packets);
    }
    return count_packets(demuxer, *packet, packets);
}

/// EXIF turns a photo, and only its decoder reads that.
Result<PictureSizes> sizes_of_picture(std::string const& path, DecodeLimits const& limits) {
    DecodeCounts counts;
    PictureSizes sizes;
    OSORA_TRY_VOID(read_frames(path, {}, limits, counts, [&](int, AVFrame& frame) -> Result<void> {
        OSORA_TRY(sizes, sizes_of(frame));
        return {};
    }));
    return sizes;
}

bool says(AVRational const& ratio) {
    return ratio.num > 0 && ratio.den > 0;
}

/// The sample aspect ratio of an mp4 that has it in the codec's headers alone. FFmpeg reads HEVC's
/// when it opens the decoder, H.264's with the first picture only.
Result<AVRational> ratio_of_codec(Demuxer& demuxer, DecodeLimits const& limits) {
    AVCodecParameters const& codec = *demuxer.stream()->codecpar;
    if (codec.codec_id == AV_CODEC_ID_H264) {
        auto const size = static_cast<std::size_t>(std::max(0, codec.extradata_size));
        auto const ratio = h264_pixel_ratio(std::span(codec.extradata, size));
        return ratio ? AVRational{ratio->width, ratio->height} : AVRational{0, 1};
    }
    if (codec.codec_id != AV_CODEC_ID_HEVC) return AVRational{0, 1};
    OSORA_TRY(CodecContext const opened, open_codec(*demuxer.stream(), limits, demuxer.guard()));
    return opened->sample_aspect_ratio;
}

/// The information in the headers.
Result<Display> display_of_clip(Demuxer& demuxer, DecodeLimits const& limits) {
    AVStream const& stream = *demuxer.stream();
    AVCodecParameters const& codec = *stream.codecpar;
    OSORA_TRY(Display display, display_of(stream));
    bool const silent = !says(stream.sample_aspect_ratio) && !says(codec.sample_aspect_ratio);
    if (silent && demuxer.has_index()) {
        OSORA_TRY(AVRational const ratio, ratio_of_codec(demuxer, limits));
        set_pixel(display, ratio);
    }
    return display;
}

Result<PictureSizes> sizes_of_stream(Demuxer& demuxer, DecodeLimits const& limits) {
    OSORA_TRY(Display const display, display_of_clip(demuxer, limits));
    AVCodecParameters const& codec = *demuxer.stream()->codecpar;
    FrameSize const stored{.height = codec.height, .width = codec.width};
    return PictureSizes{.shown = displayed_size(stored, display), .stored = stored};
}

Result<PictureSizes> sizes_of_clip(Demuxer& demuxer, std::string const& path,
                                   DecodeLimits const& limits) {
    bool const photo =
        demuxer.is_image() && demuxer.stream()->codecpar->codec_id == AV_CODEC_ID_MJPEG;
    if (photo) {
        // Undecodable pictures are reported where they are needed.
        if (auto const sizes = sizes_of_picture(path, limits)) return sizes;
    }
    return sizes_of_stream(demuxer, limits);
}

}  // namespace

Result<PictureSizes> probe_sizes(std::string const& path, DecodeLimits const& limits) {
    CallGuard guard(limits.deadline_s, limits.cancel);
    OSORA_TRY(Demuxer demuxer, Demuxer::open(path, guard, limits.pixels_max));
    return sizes_of_clip(demuxer, path, limits);
}

namespace {

Result<ClipFacts> facts_of(Demuxer& demuxer, std::string const& path, DecodeLimits const& limits,
                           Packets* packets) {
    OSORA_TRY(PictureSizes const sizes, sizes_of_clip(demuxer, path, limits));
    AVStream const& stream = *demuxer.stream();
    ClipFacts facts{.num_frames = 1,
                    .height = sizes.shown.height,
                    .width = sizes.shown.width,
                    .stored_height = sizes.stored.height,
                    .stored_width = sizes.stored.width,
                    .fps = 0.0,
                    .codec = avcodec_get_name(stream.codecpar->codec_id)};
    if (demuxer.is_image()) return facts;
    AVRational const rate = stream.avg_frame_rate;
    if (says(rate)) facts.fps = av_q2d(rate);
    // The stream is another one from here on.
    OSORA_TRY(facts.num_frames, count_frames(demuxer, packets));
    return facts;
}

int degrees_of(Display const& display) {
    if (display.transposed) return display.mirrored_x ? 90 : 270;
    return display.mirrored_y ? 180 : 0;
}

bool is_mirrored(Display const& display) {
    return display.transposed == (display.mirrored_x == display.mirrored_y);
}

}  // namespace

Result<ClipFacts> probe_clip(std::string const& path, DecodeLimits const& limits) {
    CallGuard guard(limits.deadline_s, limits.cancel);
    OSORA_TRY(Demuxer demuxer, Demuxer::open(path, guard, limits.pixels_max));
    return facts_of(demuxer, path, limits, nullptr);
}

Result<ClipSurvey> survey_clip(std::string const& path, DecodeLimits const& limits) {
    CallGuard guard(limits.deadline_s, limits.cancel);
    OSORA_TRY(Demuxer demuxer, Demuxer::open(path, guard, limits.pixels_max));
    ClipSurvey survey;
    survey.container = demuxer.container();
    OSORA_TRY(Display const display, display_of_clip(demuxer, limits));
    survey.rotation = degrees_of(display);
    survey.mirrored = is_mirrored(display);
    survey.pixel_width = display.pixel_width;
    survey.pixel_height = display.pixel_height;
    AVRational const tick = demuxer.stream()->time_base;
    survey.time_base_num = tick.num;
    survey.time_base_den = std::max(1, tick.den);
    OSORA_TRY(survey.facts, facts_of(demuxer, path, limits, &survey.packets));
    return survey;
}

}  // namespace osora::worker
