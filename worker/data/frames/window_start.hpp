// Private to worker/data: where decoding must start in a file to get a window of frames.
#pragma once

#include "worker/data/frames/av_handles_internal.hpp"
#include "worker/data/frames/demux.hpp"
#include "worker/data/frames/frame_table.hpp"

#include <optional>

namespace osora::worker {

/// Where decoding starts, and which frames must come out.
struct WindowStart {
    WindowPlan plan;
    std::optional<AVIndexEntry> seek;  // to this keyframe; otherwise from the first packet
};

/// Whether the frame of an index entry is part of the clip (edit lists cut frames off).
[[nodiscard]] inline bool is_shown(AVIndexEntry const& entry) {
    return (entry.flags & AVINDEX_DISCARD_FRAME) == 0;
}

/// Whether the pictures in the container's index are those that come out: not if the file starts
/// with pictures that are dropped. Reads the first packet into `packet`.
[[nodiscard]] Result<bool> index_counts(Demuxer& demuxer, AVPacket& packet);

/// By the container's index if it has one, reading only the packets around the window; otherwise by
/// reading packets from the first one up to the window. `packet` is scratch.
[[nodiscard]] Result<WindowStart> find_start(Demuxer& demuxer, FrameWindow const& window,
                                             AVPacket& packet);

/// Reads the first packet to decode into `packet`.
[[nodiscard]] Result<void> go_to_start(Demuxer& demuxer, WindowStart const& start,
                                       AVPacket& packet);

}  // namespace osora::worker
