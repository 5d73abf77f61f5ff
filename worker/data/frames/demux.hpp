// Private to worker/data: one open file and its video stream. Reads only local regular files, in
// container formats from a list, whatever their name.
#pragma once

#include "worker/data/frames/av_handles_internal.hpp"

#include <cstdint>
#include <string>
#include <vector>

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
    /// Whether a packet that was read came with other headers of the codec than the stream's: the
    /// parts of a joined mp4 have their own. libavformat gives them with the first packet that it
    /// reads of a part, and not again after a seek: they are known only in the order of the file.
    [[nodiscard]] bool changed_headers() const { return !headers_.empty(); }
    /// Gives `packet`, the last one that was read, the headers of its part.
    [[nodiscard]] Result<void> add_headers(AVPacket& packet) const;

private:
    Demuxer(FormatContext context, int stream_index, std::string path, CallGuard& guard,
            std::int64_t pixels_max);

    FormatContext context_;
    int stream_index_;
    std::string path_;
    CallGuard* guard_;
    std::int64_t pixels_max_;
    bool fresh_ = true;                  // nothing has been read
    std::vector<std::uint8_t> headers_;  // of the last packet; empty: those of the stream
};

}  // namespace osora::worker
