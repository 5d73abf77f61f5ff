// Opening and reading files through libavformat, bounded in time and in kinds of file.
#include "worker/data/frames/demux.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>
#include <vector>

extern "C" {
#include <libavutil/avstring.h>
#include <libavutil/dict.h>
#include <libavutil/error.h>
}

namespace osora::worker {
namespace {

// Containers that hold video or pictures. Left out on purpose: what refers to other files or hosts
// (hls, dash, concat), and what makes video of any text (tty).
constexpr char const* kFormats =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,m4v,ivf,obu,flv,asf,"
    "ogg,nut,mjpeg,gif,apng,yuv4mpegpipe,image2,png_pipe,jpeg_pipe,webp_pipe,bmp_pipe,tiff_pipe";

class Options {
public:
    Options() = default;
    Options(Options const&) = delete;
    Options& operator=(Options const&) = delete;
    ~Options() { av_dict_free(&dict_); }
    void set(char const* key, std::string const& value) {
        av_dict_set(&dict_, key, value.c_str(), 0);
    }
    AVDictionary** get() { return &dict_; }

private:
    AVDictionary* dict_ = nullptr;
};

Result<void> check_file(std::string const& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        bool const none = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
        return Error{none ? Errc::not_found : Errc::io,
                     fmt::format("open: {}", std::strerror(errno))};
    }
    // A pipe or a device could block for ever.
    if (!S_ISREG(info.st_mode)) return Error{Errc::corrupt, "open: not a regular file"};
    if (info.st_size == 0) return Error{Errc::corrupt, "open: the file is empty"};
    return {};
}

bool is_mov(AVFormatContext const& context) {
    return std::strncmp(context.iformat->name, "mov,", 4) == 0;
}

/// mp4 has size, codec data and reorder depth in its header; other containers need
/// avformat_find_stream_info(), which decodes the first frames (35 ms for a 1080p file).
bool header_suffices(AVFormatContext const& context, AVStream const& stream) {
    AVCodecParameters const& codec = *stream.codecpar;
    return is_mov(context) && codec.width > 0 && codec.height > 0 && codec.extradata_size > 0 &&
           stream.nb_frames > 0;
}

/// Of a read that fails demuxers make the end of the file, and of that a file without headers.
Result<void> check_reads(AVIOContext const* file, std::string_view what, CallGuard const& guard) {
    if (file == nullptr || file->error >= 0) return {};
    return av_error(file->error, what, guard);
}

/// Of a demuxer whose reads succeeded: Matroska's and others return EIO for a file that is cut.
/// Only image2 opens and reads the file itself. `format` may be null.
Error demux_error(int error, std::string_view what, AVInputFormat const* format,
                  CallGuard const& guard) {
    Error const found = av_error(error, what, guard);
    bool const reads_itself = format != nullptr && (format->flags & AVFMT_NOFILE) != 0;
    if (found.code != Errc::io || reads_itself) return found;
    return {Errc::corrupt, fmt::format("{}: the file is cut or damaged", what)};
}

Result<void> find_stream_info(AVFormatContext& context, CallGuard const& guard,
                              std::int64_t pixels_max) {
    std::vector<Options> options(context.nb_streams);
    std::vector<AVDictionary*> dicts;
    for (Options& option : options) {
        option.set("max_pixels", std::to_string(pixels_max));
        option.set("threads", "1");
        dicts.push_back(*option.get());
    }
    int const error = avformat_find_stream_info(&context, dicts.empty() ? nullptr : dicts.data());
    for (std::size_t i = 0; i < options.size(); ++i) *options[i].get() = dicts[i];
    OSORA_TRY_VOID(check_reads(context.pb, "read stream headers", guard));
    if (error < 0) return demux_error(error, "read stream headers", context.iformat, guard);
    return {};
}

/// The format of a file that is not in kFormats, for a message; empty: unknown.
std::string other_format(std::string const& path) {
    constexpr std::streamsize kLooked = 1 << 16;
    constexpr int kSure = AVPROBE_SCORE_RETRY;
    std::vector<unsigned char> bytes(kLooked + AVPROBE_PADDING_SIZE);
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(bytes.data()), kLooked);
    AVProbeData const data{.filename = "",
                           .buf = bytes.data(),
                           .buf_size = static_cast<int>(file.gcount()),
                           .mime_type = nullptr};
    int score = 0;
    AVInputFormat const* const found = av_probe_input_format3(&data, /*is_opened=*/1, &score);
    if (found == nullptr || score < kSure || found->long_name == nullptr) return {};
    if (av_match_list(found->name, kFormats, ',') != 0) return {};  // a damaged one of ours
    return fmt::format("{} ({})", found->name, found->long_name);
}

/// The context does not open it: it would close it on failure, with the error of the last read.
Result<InputFile> open_file(std::string const& url, CallGuard& guard) {
    AVIOInterruptCB const poll{.callback = &CallGuard::poll, .opaque = &guard};
    AVIOContext* file = nullptr;
    int const error = avio_open2(&file, url.c_str(), AVIO_FLAG_READ, &poll, nullptr);
    if (error < 0) return av_error(error, "open", guard);
    return InputFile(file);
}

Result<FormatContext> open_input(std::string const& path, CallGuard& guard) {
    std::string const url = "file:" + path;
    OSORA_TRY(InputFile file, open_file(url, guard));
    AVIOContext const& reads = *file;
    AVFormatContext* context = avformat_alloc_context();
    if (context == nullptr) return Error{Errc::out_of_memory, "open: no memory"};
    context->interrupt_callback = {.callback = &CallGuard::poll, .opaque = &guard};
    context->pb = file.get();
    Options options;
    options.set("protocol_whitelist", "file");
    options.set("format_whitelist", kFormats);
    options.set("pattern_type", "none");  // "%d" in the name of a picture is just a name
    // Frees the context itself on failure.
    int const error = avformat_open_input(&context, url.c_str(), nullptr, options.get());
    FormatContext opened(error < 0 ? nullptr : context);
    if (opened) static_cast<void>(file.release());  // closed with the context
    OSORA_TRY_VOID(check_reads(&reads, "open", guard));
    bool const refused = error == AVERROR_INVALIDDATA || error == AVERROR(EINVAL);
    if (refused && check(guard).has_value()) {
        std::string const other = other_format(path);
        if (!other.empty()) return Error{Errc::corrupt, "open: no video but " + other};
    }
    if (error < 0) return demux_error(error, "open", nullptr, guard);
    return opened;
}

/// Whether the pictures accompany a sound or a clip: covers and thumbnails are never the video.
bool is_cover(AVStream const& stream) {
    return (stream.disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS)) !=
           0;
}

/// A codec of single pictures.
bool is_picture_codec(AVStream const& stream) {
    switch (stream.codecpar->codec_id) {
        case AV_CODEC_ID_PNG:
        case AV_CODEC_ID_BMP:
        case AV_CODEC_ID_TIFF:
        case AV_CODEC_ID_WEBP:
            return true;
        case AV_CODEC_ID_MJPEG:
            return stream.nb_frames == 1;
        default:
            return false;
    }
}

/// The order of libavformat, after excluding what is not video: moving pictures, the default one,
/// more than a few frames, the larger bit rate.
auto rank_of(AVStream const& stream) {
    constexpr std::int64_t kEnough = 5;
    bool const impaired = (stream.disposition &
                           (AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_VISUAL_IMPAIRED)) != 0;
    bool const chosen = (stream.disposition & AV_DISPOSITION_DEFAULT) != 0;
    return std::tuple(stream.codecpar->width > 0, !is_picture_codec(stream),
                      (stream.disposition & AV_DISPOSITION_STILL_IMAGE) == 0,
                      (impaired ? 0 : 1) + (chosen ? 1 : 0), std::min(kEnough, stream.nb_frames),
                      stream.codecpar->bit_rate);
}

/// -1: there is none.
int video_stream(AVFormatContext const& context) {
    int best = -1;
    for (unsigned i = 0; i < context.nb_streams; ++i) {
        AVStream const& stream = *context.streams[i];
        if (stream.codecpar->codec_type != AVMEDIA_TYPE_VIDEO || is_cover(stream)) continue;
        if (best < 0 || rank_of(*context.streams[best]) < rank_of(stream))
            best = static_cast<int>(i);
    }
    return best;
}

/// What is in a file in place of a video.
Error no_video(AVFormatContext const& context) {
    bool sound = false, cover = false;
    for (unsigned i = 0; i < context.nb_streams; ++i) {
        AVStream const& stream = *context.streams[i];
        sound = sound || stream.codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
        cover = cover || is_cover(stream);
    }
    std::string const what = sound && cover ? ", but sound and a cover picture"
                             : sound        ? ", but sound"
                             : cover        ? ", but a cover picture"
                                            : "";
    return {Errc::corrupt, "open: no video stream in it" + what};
}

/// Errors that say nothing about the content of a file: a network file system that went away (NFS,
/// Lustre, FUSE), a disk, rights, too many open files. Not EPERM: demuxers and decoders return a
/// plain -1 for data that they do not like.
bool is_of_file_system(int error) {
    constexpr std::array kErrors{EIO,          EACCES,     ESTALE,       ETIMEDOUT,    ENXIO,
                                 ENODEV,       EMFILE,     ENFILE,       EREMOTEIO,    ENOTCONN,
                                 ESHUTDOWN,    ECONNRESET, ECONNABORTED, ECONNREFUSED, EHOSTDOWN,
                                 EHOSTUNREACH, ENETUNREACH};
    return std::ranges::find(kErrors, AVUNERROR(error)) != kErrors.end();
}

}  // namespace

Result<void> check(CallGuard const& guard) {
    if (guard.cancelled()) return Error{Errc::cancelled, "cancelled"};
    if (guard.expired()) {
        return Error{Errc::timed_out, fmt::format("not done in {} s", guard.deadline_s())};
    }
    return {};
}

Error av_error(int error, std::string_view what, CallGuard const& guard) {
    if (auto const ended = check(guard); ended.has_error()) {
        return Error(ended.error()).in(what);
    }
    std::array<char, AV_ERROR_MAX_STRING_SIZE> reason{};
    av_strerror(error, reason.data(), reason.size());
    Errc code = Errc::corrupt;
    if (error == AVERROR(ENOENT)) code = Errc::not_found;
    if (is_of_file_system(error)) code = Errc::io;
    if (error == AVERROR(ENOMEM)) code = Errc::out_of_memory;
    return Error{code, fmt::format("{}: {}", what, reason.data())};
}

Demuxer::Demuxer(FormatContext context, int stream_index, std::string path, CallGuard& guard,
                 std::int64_t pixels_max)
    : context_(std::move(context)),
      stream_index_(stream_index),
      path_(std::move(path)),
      guard_(&guard),
      pixels_max_(pixels_max) {}

Result<Demuxer> Demuxer::open(std::string const& path, CallGuard& guard, std::int64_t pixels_max) {
    OSORA_TRY_VOID(check_file(path));
    OSORA_TRY(FormatContext context, open_input(path, guard));
    int index = video_stream(*context);
    if (index < 0 || !header_suffices(*context, *context->streams[index])) {
        OSORA_TRY_VOID(find_stream_info(*context, guard, pixels_max));
        index = video_stream(*context);
    }
    if (index < 0) return no_video(*context);
    for (unsigned i = 0; i < context->nb_streams; ++i) {
        bool const wanted = static_cast<int>(i) == index;
        context->streams[i]->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
    AVCodecParameters const& codec = *context->streams[index]->codecpar;
    if (codec.width <= 0 || codec.height <= 0) {
        return Error{Errc::corrupt, "open: no picture size in its headers"};
    }
    if (static_cast<std::int64_t>(codec.width) * codec.height > pixels_max) {
        return Error{Errc::out_of_memory,
                     fmt::format("open: a picture of {} x {} is over the limit of {} pixels",
                                 codec.width, codec.height, pixels_max)};
    }
    return Demuxer(std::move(context), index, path, guard, pixels_max);
}

bool Demuxer::has_index() const {
    return is_mov(*context_) && stream()->nb_frames > 0 &&
           avformat_index_get_entries_count(stream()) == stream()->nb_frames;
}

bool Demuxer::is_image() const {
    std::string_view const name = context_->iformat->name;
    return name == "image2" || name.ends_with("_pipe");
}

Result<bool> Demuxer::read(AVPacket& packet) {
    fresh_ = false;
    for (;;) {
        OSORA_TRY_VOID(check(*guard_));
        av_packet_unref(&packet);
        int const error = av_read_frame(context_.get(), &packet);
        // Of a read that fails demuxers make the end of the file, or a packet that is cut.
        bool const cut = error >= 0 && (packet.flags & AV_PKT_FLAG_CORRUPT) != 0;
        if ((error < 0 || cut) && context_->pb != nullptr && context_->pb->error < 0) {
            return av_error(context_->pb->error, "read", *guard_);
        }
        if (error == AVERROR_EOF) return false;
        if (error < 0) return demux_error(error, "read", context_->iformat, *guard_);
        if (packet.stream_index != stream_index_) continue;
        std::size_t size = 0;
        auto const* headers = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
        if (headers != nullptr) headers_.assign(headers, headers + size);
        if (packet.size == 0) continue;  // AVI's "as before": nothing to decode, nothing comes out
        if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) {
            return Error{Errc::corrupt, "read: a damaged or cut packet"};
        }
        return true;
    }
}

Result<void> Demuxer::seek(std::int64_t dts) {
    fresh_ = false;
    int const error = avformat_seek_file(context_.get(), stream_index_, INT64_MIN, dts, dts, 0);
    OSORA_TRY_VOID(check_reads(context_->pb, "seek", *guard_));
    if (error < 0) return demux_error(error, "seek", context_->iformat, *guard_);
    return {};
}

Result<void> Demuxer::rewind() {
    if (fresh_) return {};
    OSORA_TRY(Demuxer again, open(path_, *guard_, pixels_max_));
    *this = std::move(again);
    return {};
}

Result<void> Demuxer::add_headers(AVPacket& packet) const {
    auto const kind = AV_PKT_DATA_NEW_EXTRADATA;
    bool const has = av_packet_get_side_data(&packet, kind, nullptr) != nullptr;
    if (headers_.empty() || has) return {};
    std::uint8_t* const copy = av_packet_new_side_data(&packet, kind, headers_.size());
    if (copy == nullptr) return Error{Errc::out_of_memory, "read: no memory"};
    std::ranges::copy(headers_, copy);
    return {};
}

}  // namespace osora::worker
