// Display order from packet times.
#include "worker/data/frames/frame_table.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace osora::worker {

std::int64_t FrameTable::last_frame() const {
    return window_.start + static_cast<std::int64_t>(window_.num_frames - 1) * window_.stride;
}

void FrameTable::add(PacketTime const& packet) {
    packets_.push_back(packet);
    no_order_ = no_order_ || packet.pts == kNoTime || (packet.dts != kNoTime && packet.dts < dts_);
    if (packet.dts != kNoTime) dts_ = packet.dts;
    if (packet.pts == kNoTime) return;
    while (packet.dts != kNoTime && !unsettled_.empty() && unsettled_.front() < packet.dts) {
        std::ranges::pop_heap(unsettled_, std::greater{});
        unsettled_.pop_back();
        ++settled_frames_;
    }
    if (packet.discard) return;
    unsettled_.push_back(packet.pts);
    std::ranges::push_heap(unsettled_, std::greater{});
}

bool FrameTable::settled() const {
    return !no_order_ && frames_before_ + settled_frames_ > last_frame();
}

Result<std::vector<std::int64_t>> FrameTable::shown_times() const {
    std::vector<std::int64_t> times;
    for (PacketTime const& packet : packets_) {
        if (!packet.discard) times.push_back(packet.pts);
    }
    auto const frames = frames_before_ + static_cast<std::int64_t>(times.size());
    if (frames <= last_frame()) {
        return Error{Errc::corrupt, fmt::format("the clip has {} frames, frame {} was asked for",
                                                frames, last_frame())};
    }
    std::ranges::sort(times);
    return times;
}

Result<std::optional<WindowPlan>> FrameTable::plan() const {
    OSORA_TRY(std::vector<std::int64_t> const times, shown_times());
    bool const repeated = std::ranges::adjacent_find(times) != times.end();
    if (no_order_ || repeated) {
        if (frames_before_ > 0) return std::optional<WindowPlan>();
        WindowPlan all;
        all.by_count = true;
        return std::optional(all);
    }
    std::int64_t const first = window_.start - frames_before_;
    OSORA_CHECK_LE(0, first);
    WindowPlan plan;
    for (int i = 0; i < window_.num_frames; ++i) {
        auto const at = first + static_cast<std::int64_t>(i) * window_.stride;
        plan.wanted.push_back(times[static_cast<std::size_t>(at)]);
    }
    // Frames shown from the keyframe on need nothing before it; those shown before it ("leading")
    // may, so they belong to the keyframe before.
    for (std::size_t i = packets_.size(); i-- > 0;) {
        if (!packets_[i].key || packets_[i].pts > plan.wanted.front()) continue;
        plan.key_packet = i;
        plan.key_pts = packets_[i].pts;
        return std::optional(std::move(plan));
    }
    return std::optional<WindowPlan>();
}

}  // namespace osora::worker
