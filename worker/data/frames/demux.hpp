// Private to worker/data: one open file and its video stream. Reads only local regular files, in
// container formats from a list, whatever their name.
#pragma once

#include "worker/data/frames/av_handles_internal.hpp"

#include <cstdint>
#include <string>

namespace osora::worker {

class Demuxer {
public:
    /// `guard` must outlive the demuxer.
    [[nodiscard]] static Result<Demuxer> open(std::string const& path, CallGuard& guard,
                                              std::int64_t pixels_max);

    [[nodiscard]] CallGuard const& guard() const { return *guard_; }
    [[nodiscard]] AVStream* stream() const { return context_->streams[stream_index_]; }
    /// Whether the container lists every packet (mp4 that is not fragmented).
    [[nodiscard]] bool has_index() const;
    /// A single picture (png, jpeg, ...), not a video of one frame.
    [[nodiscard]] bool is_image() const;
    /// FFmpeg's name of the format.
    [[nodiscard]] std::string container() const { return context_->iformat->name; }

    /// The next packet of the stream; false at the end of the file.
    [[nodiscard]] Result<bool> read(AVPacket& packet);
    /// Seeks to the packet with this decoding time, which must be a keyframe of the index.
    [[nodiscard]] Result<void> seek(std::int64_t dts);
    /// Reads from the first packet again.
    [[nodiscard]] Result<void> rewind();

private:
    Demuxer(FormatContext context, int stream_index, std::string path, CallGuard& guard,
            std::int64_t pixels_max);

    FormatContext context_;
    int stream_index_;
    std::string path_;
    CallGuard* guard_;
    std::int64_t pixels_max_;
    bool fresh_ = true;  // nothing has been read
};

}  // namespace osora::worker
