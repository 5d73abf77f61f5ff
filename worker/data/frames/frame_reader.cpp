// Plans a window's packets and decodes them. If decoding only those from the nearest keyframe on
// fails, it is tried once with all from the first packet on: some keyframes cannot be started from
// (intra refresh).
#include "worker/data/frames/frame_reader.hpp"

#include "worker/data/frames/frame_display.hpp"
#include "worker/data/frames/shown_frames.hpp"
#include "worker/data/frames/window_start.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {
namespace {

/// Whether "nothing refers to it" can be trusted, where the plan does not say what is needed.
/// HEVC's flag speaks of the picture's own temporal layer only, so there it takes a stream of one
/// layer (hvcC, numTemporalLayers).
bool can_skip_unreferenced(AVCodecParameters const& codec) {
    switch (codec.codec_id) {
        case AV_CODEC_ID_H264:
        case AV_CODEC_ID_MPEG4:
        case AV_CODEC_ID_MPEG2VIDEO:
            return true;
        case AV_CODEC_ID_HEVC:
            return codec.extradata_size >= 23 && codec.extradata[0] == 1 &&
                   ((codec.extradata[21] >> 3) & 7) == 1;
        default:
            return false;
    }
}

/// One pass of decoding towards a plan.
class Decoding {
public:
    Decoding(CodecContext codec, Demuxer const& demuxer, WindowStart const& start,
             FrameWindow const& window, FrameSink const& sink)
        : codec_(std::move(codec)),
          demuxer_(demuxer),
          frame_(av_frame_alloc()),
          plan_(start.plan),
          window_(window),
          guard_(demuxer.guard()),
          sink_(sink) {}

    void allow_skipping() { skipping_ = true; }
    [[nodiscard]] bool done() const { return next_ == window_.num_frames; }
    /// Whether everything that the window needs has been sent.
    [[nodiscard]] bool sent_all() const {
        return !plan_.by_count && !flush_loses_ && sent_wanted_ == window_.num_frames;
    }
    /// The first packet is `packet`. FFmpeg's H.264 decoder drops what a flush would give after a
    /// start at a recovery point: there the pictures must be pushed out by those that follow.
    void start_at(AVPacket const& packet) {
        AVCodecParameters const& codec = *demuxer_.stream()->codecpar;
        flush_loses_ = codec.codec_id == AV_CODEC_ID_H264 && starts_without_past(packet, codec);
    }

    Result<void> send(AVPacket const* packet, DecodeCounts& counts) {
        if (packet != nullptr) ++counts.packets_read;
        if (packet != nullptr && !plan_.by_count) {
            std::size_t const number = next_packet_++;
            bool const skipped = number < plan_.needed.size() && !plan_.needed[number];
            // Shown before the keyframe: not wanted, and may lack what it refers to.
            if (skipped || packet->pts < plan_.key_pts) return {};
            bool const wanted = std::ranges::binary_search(plan_.wanted, packet->pts) &&
                                !is_never_shown(codec_->codec_id, packet_bytes(*packet));
            if (wanted) ++sent_wanted_;
            bool const skips = skipping_ && plan_.needed.empty() && !wanted;
            codec_->skip_frame = skips ? AVDISCARD_NONREF : AVDISCARD_DEFAULT;
        }
        if (packet != nullptr) ++counts.packets_sent;
        int const error = avcodec_send_packet(codec_.get(), packet);
        if (error < 0) return av_error(error, "decode", guard_);
        return receive(counts);
    }

private:
    Result<void> receive(DecodeCounts& counts) {
        while (!done()) {
            int const error = avcodec_receive_frame(codec_.get(), frame_.get());
            if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return {};
            if (error < 0) return av_error(error, "decode", guard_);
            ++counts.frames_decoded;
            OSORA_TRY_VOID(take());
            av_frame_unref(frame_.get());
        }
        return {};
    }

    Result<void> take() {
        bool const damaged =
            frame_->decode_error_flags != 0 || (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0;
        if (damaged) return Error{Errc::corrupt, "decode: a damaged picture"};
        std::int64_t const here = plan_.by_count ? seen_++ : frame_->pts;
        std::int64_t const wanted =
            plan_.by_count ? window_.start + static_cast<std::int64_t>(next_) * window_.stride
                           : plan_.wanted[static_cast<std::size_t>(next_)];
        if (here < wanted) return {};
        if (here > wanted) {
            return Error{Errc::corrupt,
                         fmt::format("decode: frame {} of the window is missing", next_)};
        }
        OSORA_TRY_VOID(tag_display(*demuxer_.stream(), *frame_));
        OSORA_TRY_VOID(sink_(next_, *frame_));
        ++next_;
        return {};
    }

    CodecContext codec_;
    Demuxer const& demuxer_;  // its stream is another one after a rewind
    Frame frame_;
    WindowPlan const& plan_;
    FrameWindow window_;
    CallGuard const& guard_;
    FrameSink const& sink_;
    bool skipping_ = false;
    bool flush_loses_ = false;
    int sent_wanted_ = 0;
    std::size_t next_packet_ = 0;
    int next_ = 0;           // frame of the window that comes next
    std::int64_t seen_ = 0;  // frames that came out, for by_count
};

Result<void> decode_window(Demuxer& demuxer, WindowStart const& start, Decoding& decoding,
                           DecodeCounts& counts, AVPacket& packet) {
    OSORA_TRY_VOID(go_to_start(demuxer, start, packet));
    decoding.start_at(packet);
    bool more = true;
    while (more && !decoding.done() && !decoding.sent_all()) {
        OSORA_TRY_VOID(decoding.send(&packet, counts));
        if (decoding.done() || decoding.sent_all()) break;
        OSORA_TRY(more, demuxer.read(packet));
    }
    if (!decoding.done()) OSORA_TRY_VOID(decoding.send(nullptr, counts));
    if (!decoding.done()) return Error{Errc::corrupt, "decode: the clip ends inside the window"};
    return {};
}

Result<void> check_window(FrameWindow const& window) {
    if (window.start >= 0 && window.stride >= 1 && window.num_frames >= 1) return {};
    return Error{Errc::invalid_input,
                 fmt::format("window of {} frames from {} with stride {}: must be >= 1, 0, 1",
                             window.num_frames, window.start, window.stride)};
}

}  // namespace

Result<CodecContext> open_codec(AVStream const& stream, DecodeLimits const& limits,
                                CallGuard const& guard) {
    AVCodecParameters const& parameters = *stream.codecpar;
    AVCodec const* codec = nullptr;
    // FFmpeg's own "av1" decoder needs hardware.
    if (parameters.codec_id == AV_CODEC_ID_AV1) codec = avcodec_find_decoder_by_name("libdav1d");
    if (codec == nullptr) codec = avcodec_find_decoder(parameters.codec_id);
    if (codec == nullptr) {
        return Error{Errc::corrupt,
                     fmt::format("no decoder for codec {}", avcodec_get_name(parameters.codec_id))};
    }
    CodecContext context(avcodec_alloc_context3(codec));
    if (!context) return Error{Errc::out_of_memory, "open decoder: no memory"};
    int error = avcodec_parameters_to_context(context.get(), &parameters);
    if (error < 0) return av_error(error, "open decoder", guard);
    context->pkt_timebase = stream.time_base;
    context->thread_count = 1;  // many decoders of one thread beat one decoder of many
    context->max_pixels = limits.pixels_max;
    // Damage must be an error, not a guess at what the picture looked like.
    context->err_recognition = AV_EF_EXPLODE | AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER;
    error = avcodec_open2(context.get(), codec, nullptr);
    if (error < 0) return av_error(error, "open decoder", guard);
    return context;
}

Result<void> read_frames(std::string const& path, FrameWindow const& window,
                         DecodeLimits const& limits, DecodeCounts& counts, FrameSink const& sink) {
    OSORA_TRY_VOID(check_window(window));
    CallGuard guard(limits.deadline_s, limits.cancel);
    OSORA_TRY(Demuxer demuxer, Demuxer::open(path, guard, limits.pixels_max));
    Packet const packet(av_packet_alloc());
    if (!packet) return Error{Errc::out_of_memory, "read: no memory"};
    OSORA_TRY(WindowStart start, find_start(demuxer, window, *packet));
    auto attempt = [&](WindowStart const& from) -> Result<void> {
        OSORA_TRY(CodecContext codec, open_codec(*demuxer.stream(), limits, guard));
        Decoding decoding(std::move(codec), demuxer, from, window, sink);
        if (can_skip_unreferenced(*demuxer.stream()->codecpar)) decoding.allow_skipping();
        return decode_window(demuxer, from, decoding, counts, *packet);
    };
    Result<void> decoded = attempt(start);
    bool const all = !start.seek && start.plan.key_packet == 0 && start.plan.needed.empty();
    if (decoded.has_error() && decoded.error().code == Errc::corrupt && !all) {
        start.seek.reset();
        start.plan.key_packet = 0;
        start.plan.key_pts = kNoTime;
        start.plan.needed.clear();
        decoded = attempt(start);
    }
    return decoded;
}

}  // namespace osora::worker
