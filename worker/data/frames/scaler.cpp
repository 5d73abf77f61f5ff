// Crop, resize, colour conversion.
#include "worker/data/frames/scaler.hpp"

#include "base/check.hpp"
#include "worker/data/frames/display.hpp"
#include "worker/data/frames/frame_display.hpp"
#include "worker/data/frames/yuv_to_rgb.hpp"

#include <fmt/format.h>
#include <libyuv.h>

#include <array>
#include <cstring>
#include <string_view>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace osora::worker {
namespace {

/// If a picture does not say, formats that are full range by nature; swscale agrees.
bool is_full_range(AVFrame const& frame) {
    if (frame.color_range != AVCOL_RANGE_UNSPECIFIED)
        return frame.color_range == AVCOL_RANGE_JPEG || frame.format == AV_PIX_FMT_YUVJ420P;
    auto const* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
    if (format == nullptr) return false;
    bool const grey = format->nb_components <= 2 &&
                      (format->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_RGB)) == 0;
    return grey || std::string_view(format->name).starts_with("yuvj");
}

/// The matrix that a picture means; those "derived from the primaries" are named by these.
AVColorSpace space_of(AVFrame const& frame) {
    bool const derived = frame.colorspace == AVCOL_SPC_CHROMA_DERIVED_NCL ||
                         frame.colorspace == AVCOL_SPC_CHROMA_DERIVED_CL;
    if (!derived) return frame.colorspace;
    if (frame.color_primaries == AVCOL_PRI_BT709) return AVCOL_SPC_BT709;
    if (frame.color_primaries == AVCOL_PRI_BT2020) return AVCOL_SPC_BT2020_NCL;
    return frame.colorspace;
}

/// ITU-T H.273, 8.3.
YuvMatrix yuv_matrix_of(AVFrame const& frame) {
    bool const full = is_full_range(frame);
    switch (space_of(frame)) {
        case AVCOL_SPC_BT709:
            return {.kr = 0.2126, .kb = 0.0722, .full_range = full};
        case AVCOL_SPC_BT2020_NCL:
        case AVCOL_SPC_BT2020_CL:
            return {.kr = 0.2627, .kb = 0.0593, .full_range = full};
        case AVCOL_SPC_SMPTE240M:
            return {.kr = 0.212, .kb = 0.087, .full_range = full};
        case AVCOL_SPC_FCC:
            return {.kr = 0.30, .kb = 0.11, .full_range = full};
        default:
            return {.kr = 0.299, .kb = 0.114, .full_range = full};
    }
}

/// Colours by other equations than those of Y'CbCr would come out wrong without a word.
Result<void> check_space(AVFrame const& frame) {
    auto const* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
    if (format == nullptr) return Error{Errc::corrupt, "resize: unknown pixel format"};
    if (format->nb_components < 3 || (format->flags & AV_PIX_FMT_FLAG_RGB) != 0) return {};
    switch (space_of(frame)) {
        case AVCOL_SPC_YCGCO:
        case AVCOL_SPC_SMPTE2085:
        case AVCOL_SPC_CHROMA_DERIVED_NCL:
        case AVCOL_SPC_CHROMA_DERIVED_CL:
        case AVCOL_SPC_ICTCP:
            return Error{Errc::corrupt,
                         fmt::format("its colour matrix {} cannot be converted; bt709, bt2020nc, "
                                     "bt470bg, smpte170m, smpte240m and fcc can",
                                     av_color_space_name(frame.colorspace))};
        default:
            return {};
    }
}

/// To the aspect ratio of `size` on the screen; `size` is unturned.
Result<void> crop(AVFrame& frame, FrameSize size, Display const& display) {
    AVPixFmtDescriptor const* format =
        av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
    if (format == nullptr) return Error{Errc::corrupt, "resize: unknown pixel format"};
    CropBox const box = centre_crop(
        frame.width, frame.height,
        {.height = size.height * display.pixel_width, .width = size.width * display.pixel_height});
    // Chroma planes can only be cut at whole samples.
    int const x = box.x >> format->log2_chroma_w << format->log2_chroma_w;
    int const y = box.y >> format->log2_chroma_h << format->log2_chroma_h;
    frame.crop_left = static_cast<std::size_t>(x);
    frame.crop_top = static_cast<std::size_t>(y);
    frame.crop_right = static_cast<std::size_t>(frame.width - x - box.width);
    frame.crop_bottom = static_cast<std::size_t>(frame.height - y - box.height);
    if (av_frame_apply_cropping(&frame, AV_FRAME_CROP_UNALIGNED) < 0) {
        return Error{Errc::corrupt, "resize: cannot crop this pixel format"};
    }
    return {};
}

}  // namespace

CropBox centre_crop(int width, int height, FrameSize size) {
    return plan::centre_crop(width, height, {.height = size.height, .width = size.width});
}

Result<void> Scaler::to_rgb(AVFrame& frame, FrameSize size, std::span<std::uint8_t> out) {
    OSORA_CHECK_EQ(out.size(), static_cast<std::size_t>(size.height) * size.width * 3);
    OSORA_TRY(Display const display, display_of(frame));
    OSORA_TRY_VOID(check_space(frame));
    FrameSize const stored = unturned(size, display);
    OSORA_TRY_VOID(crop(frame, stored, display));
    if (!display.turns()) return stored_to_rgb(frame, stored, out);
    stored_.resize(out.size());
    OSORA_TRY_VOID(stored_to_rgb(frame, stored, stored_));
    turn_rgb(stored_, display, size, out);
    return {};
}

Result<void> Scaler::stored_to_rgb(AVFrame& frame, FrameSize size, std::span<std::uint8_t> out) {
    bool const yuv420 = frame.format == AV_PIX_FMT_YUV420P || frame.format == AV_PIX_FMT_YUVJ420P;
    return yuv420 ? planes_to_rgb(frame, size, out) : any_to_rgb(frame, size, out);
}

Result<void> Scaler::planes_to_rgb(AVFrame const& frame, FrameSize size,
                                   std::span<std::uint8_t> out) {
    std::array<std::uint8_t const*, 3> planes{frame.data[0], frame.data[1], frame.data[2]};
    std::array<int, 3> strides{frame.linesize[0], frame.linesize[1], frame.linesize[2]};
    if (frame.width != size.width || frame.height != size.height) {
        int const half_width = (size.width + 1) / 2;
        int const half_height = (size.height + 1) / 2;
        std::size_t const luma = static_cast<std::size_t>(size.width) * size.height;
        std::size_t const chroma = static_cast<std::size_t>(half_width) * half_height;
        planes_.resize(luma + 2 * chroma);
        std::uint8_t* const y = planes_.data();
        int const error = libyuv::I420Scale(planes[0], strides[0], planes[1], strides[1], planes[2],
                                            strides[2], frame.width, frame.height, y, size.width,
                                            y + luma, half_width, y + luma + chroma, half_width,
                                            size.width, size.height, libyuv::kFilterBox);
        if (error != 0) return Error{Errc::corrupt, "resize: the picture's size is refused"};
        planes = {y, y + luma, y + luma + chroma};
        strides = {size.width, half_width, half_width};
    }
    osora::worker::yuv420_to_rgb({.y = planes[0],
                                  .u = planes[1],
                                  .v = planes[2],
                                  .y_stride = strides[0],
                                  .u_stride = strides[1],
                                  .v_stride = strides[2],
                                  .height = size.height,
                                  .width = size.width},
                                 yuv_matrix_of(frame), out);
    return {};
}

Result<void> Scaler::any_to_rgb(AVFrame const& frame, FrameSize size, std::span<std::uint8_t> out) {
    bool const smaller = size.width < frame.width && size.height < frame.height;
    int const filter = (smaller ? SWS_AREA : SWS_BILINEAR) | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP |
                       SWS_FULL_CHR_H_INT;
    sws_.reset(sws_getCachedContext(
        sws_.release(), frame.width, frame.height, static_cast<AVPixelFormat>(frame.format),
        size.width, size.height, AV_PIX_FMT_RGB24, filter, nullptr, nullptr, nullptr));
    if (!sws_) {
        char const* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(frame.format));
        return Error{Errc::corrupt, fmt::format("resize: {} of {} x {} to {} x {} is refused",
                                                name == nullptr ? "?" : name, frame.width,
                                                frame.height, size.width, size.height)};
    }
    // swscale takes RGB through Y'CbCr by its own matrix, whatever the picture says of its matrix.
    auto const* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
    bool const rgb = (format->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
    int const* const from = sws_getCoefficients(rgb ? SWS_CS_DEFAULT : space_of(frame));
    sws_setColorspaceDetails(sws_.get(), from, !rgb && is_full_range(frame) ? 1 : 0,
                             sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
    // swscale may write past the end of a row, so rows are padded.
    std::size_t const row_bytes = static_cast<std::size_t>(size.width) * 3;
    std::size_t const stride = (row_bytes + 63) / 64 * 64 + 64;
    rows_.resize(stride * static_cast<std::size_t>(size.height));
    std::array<std::uint8_t*, 4> const planes{rows_.data(), nullptr, nullptr, nullptr};
    std::array<int, 4> const strides{static_cast<int>(stride), 0, 0, 0};
    int const done = sws_scale(sws_.get(), frame.data, frame.linesize, 0, frame.height,
                               planes.data(), strides.data());
    if (done != size.height) return Error{Errc::corrupt, "resize: swscale failed"};
    for (int y = 0; y < size.height; ++y) {
        auto const row = static_cast<std::size_t>(y);
        std::memcpy(out.data() + row * row_bytes, rows_.data() + row * stride, row_bytes);
    }
    return {};
}

}  // namespace osora::worker
