// What a file says about its video, without decoding it.
#include "worker/data/frame_reader.hpp"
#include "worker/data/window_start.hpp"

namespace osora::worker {

Result<ClipFacts> probe_clip(std::string const& path, DecodeLimits const& limits) {
    CallGuard guard(limits.deadline_s, limits.cancel);
    OSORA_TRY(Demuxer demuxer, Demuxer::open(path, guard, limits.pixels_max));
    AVStream* const stream = demuxer.stream();
    AVCodecParameters const& codec = *stream->codecpar;
    ClipFacts facts{.num_frames = 0,
                    .height = codec.height,
                    .width = codec.width,
                    .fps = 0.0,
                    .codec = avcodec_get_name(codec.codec_id)};
    if (demuxer.is_image()) {
        facts.num_frames = 1;
        return facts;
    }
    AVRational const rate = stream->avg_frame_rate;
    if (rate.num > 0 && rate.den > 0) facts.fps = av_q2d(rate);
    if (demuxer.has_index()) {
        int const entries = avformat_index_get_entries_count(stream);
        for (int i = 0; i < entries; ++i) {
            AVIndexEntry const* entry = avformat_index_get_entry(stream, i);
            if (entry != nullptr && is_shown(*entry)) ++facts.num_frames;
        }
        return facts;
    }
    Packet const packet(av_packet_alloc());
    if (!packet) return Error{Errc::out_of_memory, "read: no memory"};
    for (;;) {
        OSORA_TRY(bool const more, demuxer.read(*packet));
        if (!more) break;
        if ((packet->flags & AV_PKT_FLAG_DISCARD) == 0) ++facts.num_frames;
    }
    if (facts.num_frames == 0) return Error{Errc::corrupt, "read: no frame in it"};
    return facts;
}

}  // namespace osora::worker
