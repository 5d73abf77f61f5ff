// What a file says about its video. Nothing is decoded but a picture that is the whole clip, and
// clips whose packets do not say how many pictures come out.
#include "worker/data/frame_display.hpp"
#include "worker/data/frame_reader.hpp"
#include "worker/data/shown_frames.hpp"
#include "worker/data/window_start.hpp"

namespace osora::worker {
namespace {

/// Whether the pictures that the index shows are those that come out: not where the file starts
/// with pictures that are dropped.
Result<bool> index_counts(Demuxer& demuxer, AVPacket& packet) {
    OSORA_TRY(bool const more, demuxer.read(packet));
    if (!more) return true;
    AVCodecParameters const& codec = *demuxer.stream()->codecpar;
    return !starts_without_past(packet, codec) && codec.codec_id != AV_CODEC_ID_VP8;
}

int count_index(AVStream* stream) {
    int count = 0;
    int const entries = avformat_index_get_entries_count(stream);
    for (int i = 0; i < entries; ++i) {
        AVIndexEntry const* entry = avformat_index_get_entry(stream, i);
        if (entry != nullptr && is_shown(*entry)) ++count;
    }
    return count;
}

Result<int> count_packets(Demuxer& demuxer, AVPacket& packet) {
    OSORA_TRY_VOID(demuxer.rewind());
    ShownFrames shown(*demuxer.stream()->codecpar, /*from_first=*/true);
    int count = 0;
    for (;;) {
        OSORA_TRY(bool const more, demuxer.read(packet));
        if (!more) break;
        if (!shown.add(packet).discard) ++count;
    }
    if (count == 0) return Error{Errc::corrupt, "read: no frame in it"};
    return count;
}

Result<int> count_frames(Demuxer& demuxer) {
    Packet const packet(av_packet_alloc());
    if (!packet) return Error{Errc::out_of_memory, "read: no memory"};
    if (demuxer.has_index()) {
        OSORA_TRY(bool const counts, index_counts(demuxer, *packet));
        if (counts) return count_index(demuxer.stream());
    }
    return count_packets(demuxer, *packet);
}

/// EXIF turns a photo, and only its decoder reads that.
Result<void> size_of_picture(std::string const& path, DecodeLimits const& limits,
                             ClipFacts& facts) {
    DecodeCounts counts;
    return read_frames(path, {}, limits, counts, [&](int, AVFrame& frame) -> Result<void> {
        OSORA_TRY(Display const display, display_of(frame));
        auto const size = displayed_size({.height = frame.height, .width = frame.width}, display);
        facts.height = size.height;
        facts.width = size.width;
        return {};
    });
}

}  // namespace

Result<ClipFacts> probe_clip(std::string const& path, DecodeLimits const& limits) {
    CallGuard guard(limits.deadline_s, limits.cancel);
    OSORA_TRY(Demuxer demuxer, Demuxer::open(path, guard, limits.pixels_max));
    AVStream const& stream = *demuxer.stream();
    AVCodecParameters const& codec = *stream.codecpar;
    OSORA_TRY(Display const display, display_of(stream));
    auto const size = displayed_size({.height = codec.height, .width = codec.width}, display);
    ClipFacts facts{.num_frames = 0,
                    .height = size.height,
                    .width = size.width,
                    .stored_height = codec.height,
                    .stored_width = codec.width,
                    .fps = 0.0,
                    .codec = avcodec_get_name(codec.codec_id)};
    if (demuxer.is_image()) {
        facts.num_frames = 1;
        // What cannot be decoded is said where it is wanted.
        if (codec.codec_id == AV_CODEC_ID_MJPEG)
            static_cast<void>(size_of_picture(path, limits, facts));
        return facts;
    }
    AVRational const rate = stream.avg_frame_rate;
    if (rate.num > 0 && rate.den > 0) facts.fps = av_q2d(rate);
    OSORA_TRY(facts.num_frames, count_frames(demuxer));  // the stream is another one from here on
    return facts;
}

}  // namespace osora::worker
