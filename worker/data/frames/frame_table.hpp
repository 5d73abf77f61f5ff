// Private to worker/data: finds the packets that a window of frames needs. Pure. Frames are counted
// in display order, packets come in decoding order.
#pragma once

#include "base/result.hpp"
#include "worker/data/frames/decoder.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace osora::worker {

struct PacketTime {
    std::int64_t pts = 0;  // kNoTime: the container does not say
    std::int64_t dts = 0;
    bool key = false;
    bool discard = false;  // decoded, but not shown (edit lists)
};
constexpr std::int64_t kNoTime = INT64_MIN;  // AV_NOPTS_VALUE

struct WindowPlan {
    std::size_t key_packet = 0;        // index of the packet where decoding starts
    std::int64_t key_pts = kNoTime;    // of that packet
    std::vector<std::int64_t> wanted;  // pts of the window's frames, ascending
    bool by_count = false;             // times say no order: decode all and count
    /// From `key_packet` on: whether the frames depend on the packet. Empty: not known.
    std::vector<bool> needed;
};

/// Collects packets from a keyframe (or the start of the file) on until the window's frames are
/// known.
class FrameTable {
public:
    /// `frames_before`: shown frames whose packets come before the first one that is added.
    FrameTable(FrameWindow const& window, std::int64_t frames_before)
        : window_(window), frames_before_(frames_before) {}

    void add(PacketTime const& packet);
    /// Whether no later packet can change the answer: every frame up to the window's last has a pts
    /// below the dts reached, and later packets have pts >= dts >= that.
    [[nodiscard]] bool settled() const;
    [[nodiscard]] std::size_t size() const { return packets_.size(); }
    [[nodiscard]] std::vector<PacketTime> const& packets() const { return packets_; }

    /// corrupt: fewer frames than the window needs. nullopt: packets before the first added one are
    /// needed (a frame is shown before the keyframe that the table starts at, or all must be
    /// counted).
    [[nodiscard]] Result<std::optional<WindowPlan>> plan() const;

private:
    [[nodiscard]] std::int64_t last_frame() const;  // of the window
    [[nodiscard]] Result<std::vector<std::int64_t>> shown_times() const;

    FrameWindow window_;
    std::int64_t frames_before_;
    std::vector<PacketTime> packets_;
    std::vector<std::int64_t> unsettled_;  // min-heap of pts >= the dts reached
    std::int64_t settled_frames_ = 0;      // shown frames with pts < the dts reached
    std::int64_t dts_ = kNoTime;           // the last one that is known
    bool no_order_ = false;                // times are missing, or begin again (joined files)
};

}  // namespace osora::worker
