// Private to worker/data: FFmpeg's handles as unique_ptr, and its errors as Error.
#pragma once

#include "base/result.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

namespace osora::worker {

struct AvFree {
    /// With its file, where that was opened for it.
    void operator()(AVFormatContext* context) const {
        AVIOContext* file = (context->flags & AVFMT_FLAG_CUSTOM_IO) != 0 ? context->pb : nullptr;
        avformat_close_input(&context);
        avio_closep(&file);
    }
    void operator()(AVIOContext* file) const { avio_closep(&file); }
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(SwsContext* context) const { sws_freeContext(context); }
};
using FormatContext = std::unique_ptr<AVFormatContext, AvFree>;
using InputFile = std::unique_ptr<AVIOContext, AvFree>;
using CodecContext = std::unique_ptr<AVCodecContext, AvFree>;
using Packet = std::unique_ptr<AVPacket, AvFree>;
using Frame = std::unique_ptr<AVFrame, AvFree>;
using SwsHandle = std::unique_ptr<SwsContext, AvFree>;

/// The deadline and the cancel flag of one call; FFmpeg polls it inside file reads.
class CallGuard {
public:
    CallGuard(double deadline_s, std::atomic<bool> const* cancel)
        : until_(std::chrono::steady_clock::now() +
                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                     std::chrono::duration<double>(deadline_s))),
          deadline_s_(deadline_s),
          cancel_(cancel) {}

    [[nodiscard]] bool cancelled() const {
        return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool expired() const { return std::chrono::steady_clock::now() >= until_; }
    [[nodiscard]] double deadline_s() const { return deadline_s_; }
    /// AVIOInterruptCB::callback.
    static int poll(void* guard) {
        auto const* self = static_cast<CallGuard const*>(guard);
        return self->cancelled() || self->expired() ? 1 : 0;
    }

private:
    std::chrono::steady_clock::time_point until_;
    double deadline_s_;
    std::atomic<bool> const* cancel_;
};

/// Why the guard ends the call, or success.
[[nodiscard]] Result<void> check(CallGuard const& guard);

/// "WHAT: REASON" for an AVERROR; the guard's reason takes precedence.
[[nodiscard]] Error av_error(int error, std::string_view what, CallGuard const& guard);

}  // namespace osora::worker
