// Side data of FFmpeg to Display.
#include "worker/data/frames/frame_display.hpp"

#include <array>
#include <cstring>

extern "C" {
#include <libavutil/display.h>
#include <libavutil/rational.h>
}

namespace osora::worker {
namespace {

using MatrixBytes = std::span<std::uint8_t const>;

MatrixBytes matrix_of(AVStream const& stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)
    AVCodecParameters const& codec = *stream.codecpar;
    auto const* found = av_packet_side_data_get(codec.coded_side_data, codec.nb_coded_side_data,
                                                AV_PKT_DATA_DISPLAYMATRIX);
    return found == nullptr ? MatrixBytes() : MatrixBytes(found->data, found->size);
#else
    std::size_t size = 0;
    auto const* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return data == nullptr ? MatrixBytes() : MatrixBytes(data, size);
#endif
}

MatrixBytes matrix_of(AVFrame const& frame) {
    auto const* found = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return found == nullptr ? MatrixBytes() : MatrixBytes(found->data, found->size);
}

Result<Display> display_from(MatrixBytes matrix, AVRational pixel) {
    std::array<std::int32_t, 9> entries{};
    if (matrix.size() < sizeof(entries)) matrix = {};
    if (!matrix.empty()) std::memcpy(entries.data(), matrix.data(), sizeof(entries));
    OSORA_TRY(Display display, display_of(std::span<std::int32_t const>(entries).first(
                                   matrix.empty() ? 0 : entries.size())));
    set_pixel(display, pixel);
    return display;
}

}  // namespace

void set_pixel(Display& display, AVRational ratio) {
    if (ratio.num <= 0 || ratio.den <= 0) return;
    constexpr std::int64_t kTermMax = 1000;
    av_reduce(&ratio.num, &ratio.den, ratio.num, ratio.den, kTermMax);
    if (ratio.num <= 0 || ratio.den <= 0) return;
    display.pixel_width = ratio.num;
    display.pixel_height = ratio.den;
}

Result<Display> display_of(AVStream const& stream) {
    AVRational const own = stream.sample_aspect_ratio;
    bool const says = own.num > 0 && own.den > 0;
    return display_from(matrix_of(stream), says ? own : stream.codecpar->sample_aspect_ratio);
}

Result<void> tag_display(AVStream const& stream, AVFrame& frame) {
    if (stream.sample_aspect_ratio.num > 0) frame.sample_aspect_ratio = stream.sample_aspect_ratio;
    MatrixBytes const matrix = matrix_of(stream);
    if (matrix.empty() || !matrix_of(frame).empty()) return {};
    auto* const side = av_frame_new_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX, matrix.size());
    if (side == nullptr) return Error{Errc::out_of_memory, "decode: no memory"};
    std::memcpy(side->data, matrix.data(), matrix.size());
    return {};
}

Result<Display> display_of(AVFrame const& frame) {
    return display_from(matrix_of(frame), frame.sample_aspect_ratio);
}

Result<PictureSizes> sizes_of(AVFrame const& frame) {
    OSORA_TRY(Display const display, display_of(frame));
    FrameSize const stored{.height = frame.height, .width = frame.width};
    return PictureSizes{.shown = displayed_size(stored, display), .stored = stored};
}

}  // namespace osora::worker
