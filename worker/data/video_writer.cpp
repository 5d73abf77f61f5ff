// The muxer writes to a temporary file in the folder of the target, which is renamed when all is
// in it.
#include "worker/data/video_writer.hpp"

#include "base/files/files.hpp"
#include "worker/data/frames/av_handles_internal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

extern "C" {
#include <libavutil/opt.h>
}

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

constexpr double kFpsMin = 0.01, kFpsMax = 1000;
constexpr int kSideMax = 16384;  // of H.264 in FFmpeg

/// An output with its file; both are closed when it goes.
struct MuxerFree {
    void operator()(AVFormatContext* muxer) const {
        avio_closep(&muxer->pb);
        avformat_free_context(muxer);
    }
};
using Muxer = std::unique_ptr<AVFormatContext, MuxerFree>;

Error encoder_error(int error, std::string_view what) {
    std::array<char, AV_ERROR_MAX_STRING_SIZE> reason{};
    av_strerror(error, reason.data(), reason.size());
    Errc code = Errc::io;
    if (error == AVERROR(ENOSPC) || error == AVERROR(EDQUOT)) code = Errc::out_of_space;
    if (error == AVERROR(ENOMEM)) code = Errc::out_of_memory;
    if (error == AVERROR(EINVAL)) code = Errc::invalid_input;
    return Error{code, fmt::format("{}: {}", what, reason.data())};
}

Result<void> check_clip(RgbFrames const& clip, double fps) {
    auto const bad = [](std::string message) { return Error{Errc::invalid_input, message}; };
    if (clip.frames < 1) return bad("no frame to write");
    if (clip.height < 1 || clip.width < 1 || clip.height > kSideMax || clip.width > kSideMax) {
        return bad(fmt::format("frames of {} x {} pixels; valid: 1 to {} a side", clip.width,
                               clip.height, kSideMax));
    }
    if (!(fps >= kFpsMin && fps <= kFpsMax)) {
        return bad(fmt::format("{} frames/s; valid: {} to {}", fps, kFpsMin, kFpsMax));
    }
    return {};
}

AVCodec const* mp4_encoder() {
    if (auto const* x264 = avcodec_find_encoder_by_name("libx264")) return x264;
    return avcodec_find_encoder(AV_CODEC_ID_MPEG4);
}

Result<CodecContext> open_encoder(AVCodec const& codec, RgbFrames const& clip, double fps) {
    CodecContext encoder(avcodec_alloc_context3(&codec));
    if (!encoder) return Error{Errc::out_of_memory, "encoder: no memory"};
    AVRational const rate = av_d2q(fps, 60'000);  // the most that MPEG-4 takes
    encoder->width = (clip.width + 1) / 2 * 2;
    encoder->height = (clip.height + 1) / 2 * 2;
    encoder->pix_fmt = AV_PIX_FMT_YUV420P;
    encoder->time_base = av_inv_q(rate);
    encoder->framerate = rate;
    encoder->colorspace = AVCOL_SPC_SMPTE170M;
    encoder->color_range = AVCOL_RANGE_MPEG;
    encoder->thread_count = 1;  // the same bytes on every machine
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (codec.id == AV_CODEC_ID_H264) {
        av_opt_set(encoder->priv_data, "crf", "12", 0);
        av_opt_set(encoder->priv_data, "preset", "medium", 0);
    } else {
        encoder->flags |= AV_CODEC_FLAG_QSCALE;
        encoder->global_quality = 2 * FF_QP2LAMBDA;
    }
    int const error = avcodec_open2(encoder.get(), &codec, nullptr);
    if (error < 0) return encoder_error(error, fmt::format("encoder {}", codec.name));
    return encoder;
}

/// RGB with even sides to the encoder's pictures.
class Converter {
public:
    static Result<Converter> make(AVCodecContext const& encoder) {
        Converter made;
        made.sws_.reset(sws_getContext(encoder.width, encoder.height, AV_PIX_FMT_RGB24,
                                       encoder.width, encoder.height, encoder.pix_fmt,
                                       SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr,
                                       nullptr, nullptr));
        made.picture_.reset(av_frame_alloc());
        if (!made.sws_ || !made.picture_) return Error{Errc::out_of_memory, "encoder: no memory"};
        made.picture_->format = encoder.pix_fmt;
        made.picture_->width = encoder.width;
        made.picture_->height = encoder.height;
        int const error = av_frame_get_buffer(made.picture_.get(), 0);
        if (error < 0) return encoder_error(error, "encoder");
        made.rows_.resize(static_cast<std::size_t>(encoder.width) *
                          static_cast<std::size_t>(encoder.height) * 3);
        return made;
    }

    /// The picture stays until the next call.
    Result<AVFrame*> convert(RgbFrames const& clip, int index) {
        int const error = av_frame_make_writable(picture_.get());
        if (error < 0) return encoder_error(error, "encoder");
        fill_rows(clip, index);
        std::uint8_t const* const source[] = {rows_.data()};
        int const stride[] = {picture_->width * 3};
        sws_scale(sws_.get(), source, stride, 0, picture_->height, picture_->data,
                  picture_->linesize);
        picture_->pts = index;
        return picture_.get();
    }

private:
    void fill_rows(RgbFrames const& clip, int index) {
        auto const frame = clip.frame(index);
        std::size_t const from_bytes = static_cast<std::size_t>(clip.width) * 3;
        std::size_t const into_bytes = static_cast<std::size_t>(picture_->width) * 3;
        for (int y = 0; y < picture_->height; ++y) {
            auto const* from = frame.data() + std::min(y, clip.height - 1) * from_bytes;
            auto* into = rows_.data() + static_cast<std::size_t>(y) * into_bytes;
            std::memcpy(into, from, from_bytes);
            if (into_bytes > from_bytes) std::memcpy(into + from_bytes, from + from_bytes - 3, 3);
        }
    }

    SwsHandle sws_;
    Frame picture_;
    std::vector<std::uint8_t> rows_;
};

/// Hands what the encoder has ready to the muxer; `frame` null: the rest.
Result<void> encode(AVCodecContext& encoder, AVFormatContext& muxer, AVFrame const* frame) {
    int error = avcodec_send_frame(&encoder, frame);
    if (error < 0) return encoder_error(error, "encode");
    Packet const packet(av_packet_alloc());
    if (!packet) return Error{Errc::out_of_memory, "encode: no memory"};
    for (;;) {
        error = avcodec_receive_packet(&encoder, packet.get());
        if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return {};
        if (error < 0) return encoder_error(error, "encode");
        packet->duration = 1;
        av_packet_rescale_ts(packet.get(), encoder.time_base, muxer.streams[0]->time_base);
        error = av_interleaved_write_frame(&muxer, packet.get());
        if (error < 0) return encoder_error(error, "write");
    }
}

Result<Muxer> open_muxer(NewFile const& file, AVCodecContext const& encoder) {
    // The context keeps the name: to move the index to the front the muxer reads what it wrote. By
    // the descriptor it is this file, whatever its name means by now.
    std::string const url = fmt::format("file:/proc/self/fd/{}", file.descriptor());
    AVFormatContext* context = nullptr;
    int error = avformat_alloc_output_context2(&context, nullptr, "mp4", url.c_str());
    if (error < 0) return encoder_error(error, "mp4");
    Muxer muxer(context);
    AVStream* stream = avformat_new_stream(context, nullptr);
    if (stream == nullptr) return Error{Errc::out_of_memory, "mp4: no memory"};
    stream->time_base = encoder.time_base;
    stream->avg_frame_rate = encoder.framerate;
    error = avcodec_parameters_from_context(stream->codecpar, &encoder);
    if (error < 0) return encoder_error(error, "mp4");
    error = avio_open(&context->pb, url.c_str(), AVIO_FLAG_WRITE);
    if (error < 0) return encoder_error(error, "open");
    AVDictionary* options = nullptr;
    av_dict_set(&options, "movflags", "+faststart", 0);
    error = avformat_write_header(context, &options);
    av_dict_free(&options);
    if (error < 0) return encoder_error(error, "write");
    return muxer;
}

Result<std::string> encode_all(NewFile const& file, RgbFrames const& clip, double fps) {
    auto const* codec = mp4_encoder();
    if (codec == nullptr) return Error{Errc::not_found, "FFmpeg has no H.264 or MPEG-4 encoder"};
    OSORA_TRY(auto const encoder, open_encoder(*codec, clip, fps));
    OSORA_TRY(auto converter, Converter::make(*encoder));
    OSORA_TRY(auto muxer, open_muxer(file, *encoder));
    for (int i = 0; i < clip.frames; ++i) {
        OSORA_TRY(auto const* picture, converter.convert(clip, i));
        OSORA_TRY_VOID(encode(*encoder, *muxer, picture));
    }
    OSORA_TRY_VOID(encode(*encoder, *muxer, nullptr));
    int const error = av_write_trailer(muxer.get());
    if (error < 0) return encoder_error(error, "write");
    avio_flush(muxer->pb);
    if (muxer->pb->error < 0) return encoder_error(muxer->pb->error, "write");
    int const closed = avio_closep(&muxer->pb);
    if (closed < 0) return encoder_error(closed, "write");
    return std::string(codec->name);
}

}  // namespace

Result<WrittenVideo> write_mp4(fs::path const& path, RgbFrames const& clip, double fps) {
    if (auto const fits = check_clip(clip, fps); fits.has_error())
        return Error(fits.error()).in(path.string());
    OSORA_TRY(auto file, NewFile::create(path));
    auto codec = encode_all(file, clip, fps);
    if (codec.has_error()) return Error(codec.error()).in(path.string());
    OSORA_TRY_VOID(file.replace());
    std::error_code ignored;
    auto const bytes = static_cast<std::int64_t>(fs::file_size(path, ignored));
    return WrittenVideo{std::move(*codec), bytes};
}

Result<void> write_png(fs::path const& path, RgbFrames const& picture) {
    if (auto const fits = check_clip(picture, 1); fits.has_error())
        return Error(fits.error()).in(path.string());
    auto const* codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
    if (codec == nullptr) return Error{Errc::not_found, "FFmpeg has no PNG encoder"};
    CodecContext const encoder(avcodec_alloc_context3(codec));
    Frame const frame(av_frame_alloc());
    Packet const packet(av_packet_alloc());
    if (!encoder || !frame || !packet) return Error{Errc::out_of_memory, "png: no memory"};
    encoder->width = frame->width = picture.width;
    encoder->height = frame->height = picture.height;
    encoder->pix_fmt = AV_PIX_FMT_RGB24;
    frame->format = AV_PIX_FMT_RGB24;
    encoder->time_base = {1, 1};
    encoder->thread_count = 1;
    int error = avcodec_open2(encoder.get(), codec, nullptr);
    if (error >= 0) error = av_frame_get_buffer(frame.get(), 0);
    if (error < 0) return encoder_error(error, "png");
    std::size_t const row_bytes = static_cast<std::size_t>(picture.width) * 3;
    for (int y = 0; y < picture.height; ++y) {
        std::memcpy(frame->data[0] + static_cast<std::ptrdiff_t>(y) * frame->linesize[0],
                    picture.pixels.data() + static_cast<std::size_t>(y) * row_bytes, row_bytes);
    }
    error = avcodec_send_frame(encoder.get(), frame.get());
    if (error >= 0) error = avcodec_send_frame(encoder.get(), nullptr);
    if (error >= 0) error = avcodec_receive_packet(encoder.get(), packet.get());
    if (error < 0) return encoder_error(error, "png");
    return write_file_atomic(path, std::string_view(reinterpret_cast<char const*>(packet->data),
                                                    static_cast<std::size_t>(packet->size)));
}

}  // namespace osora::worker
