// Keyframes and packets around a window, found through the container's index or by reading.
#include "worker/data/frames/window_start.hpp"

#include "worker/data/frames/hevc_references.hpp"
#include "worker/data/frames/shown_frames.hpp"

#include <algorithm>

namespace osora::worker {
namespace {

struct IndexedKey {
    AVIndexEntry entry{};
    std::int64_t frames_before = 0;  // shown frames whose packets come first
    bool is_first = false;           // nothing comes first
};

/// The last keyframe with at most `frame` shown frames before it.
std::optional<IndexedKey> key_before(AVStream* stream, std::int64_t frame, int entries) {
    std::optional<IndexedKey> key;
    std::int64_t frames = 0;
    for (int i = 0; i < entries && frames <= frame; ++i) {
        AVIndexEntry const* entry = avformat_index_get_entry(stream, i);
        if (entry == nullptr) break;
        if ((entry->flags & AVINDEX_KEYFRAME) != 0) {
            key = IndexedKey{.entry = *entry, .frames_before = frames, .is_first = i == 0};
        }
        if (is_shown(*entry)) ++frames;
    }
    return key;
}

/// Packets in decoding order, until they say which of them the window needs.
class Scan {
public:
    /// As FrameTable and ShownFrames.
    Scan(Demuxer& demuxer, FrameWindow const& window, std::int64_t frames_before, bool from_first)
        : demuxer_(demuxer),
          table_(window, frames_before),
          shown_(*demuxer.stream()->codecpar, from_first) {
        // FFmpeg up to 6 decodes a picture if those that it refers to are there; not tried later.
        constexpr bool kMayLackOthers = LIBAVCODEC_VERSION_MAJOR <= 60;
        AVCodecParameters const& codec = *demuxer.stream()->codecpar;
        if (!kMayLackOthers || codec.codec_id != AV_CODEC_ID_HEVC) return;
        references_.emplace(
            std::span(codec.extradata, static_cast<std::size_t>(codec.extradata_size)));
    }

    void add(AVPacket const& packet) {
        table_.add(shown_.add(packet));
        if (demuxer_.changed_headers()) references_.reset();
        if (references_) references_->add(packet_bytes(packet));
    }

    Result<void> read_on(AVPacket& packet) {
        while (!table_.settled()) {
            OSORA_TRY(bool const more, demuxer_.read(packet));
            if (!more) break;
            add(packet);
        }
        return {};
    }

    [[nodiscard]] Result<std::optional<WindowPlan>> plan() const {
        OSORA_TRY(auto plan, table_.plan());
        if (plan && !plan->by_count && references_) plan->needed = needed(*plan);
        return plan;
    }

private:
    [[nodiscard]] std::vector<bool> needed(WindowPlan const& plan) const {
        std::vector<bool> wanted;
        for (PacketTime const& packet : table_.packets())
            wanted.push_back(std::ranges::binary_search(plan.wanted, packet.pts));
        std::vector<bool> needed = references_->needed(std::move(wanted), plan.key_packet);
        if (!needed.empty())
            needed.erase(needed.begin(),
                         needed.begin() + static_cast<std::ptrdiff_t>(plan.key_packet));
        return needed;
    }

    Demuxer& demuxer_;
    FrameTable table_;
    ShownFrames shown_;
    std::optional<HevcReferences> references_;
};

/// Reads on until the packet of `entry`; the seek may land on an earlier keyframe.
Result<bool> find_packet(Demuxer& demuxer, AVIndexEntry const& entry, AVPacket& packet) {
    OSORA_TRY_VOID(demuxer.seek(entry.timestamp));
    for (;;) {
        OSORA_TRY(bool const more, demuxer.read(packet));
        if (!more || packet.pos > entry.pos) return false;
        if (packet.pos == entry.pos) return true;
    }
}

/// By the container's index, reading only the packets around the window. nullopt: it does not fit
/// the packets, or the window needs more than the nearest keyframes.
Result<std::optional<WindowStart>> plan_by_index(Demuxer& demuxer, FrameWindow const& window,
                                                 AVPacket& packet) {
    std::int64_t frame = window.start;
    int const entries = avformat_index_get_entries_count(demuxer.stream());
    for (int attempt = 0; attempt < 2; ++attempt) {
        auto const key = key_before(demuxer.stream(), frame, entries);
        if (!key) break;
        if (!key->is_first && attempt == 0) {
            OSORA_TRY(bool const counts, index_counts(demuxer, packet));
            if (!counts) break;
        }
        OSORA_TRY(bool const found, find_packet(demuxer, key->entry, packet));
        if (!found) break;
        Scan scan(demuxer, window, key->frames_before, key->is_first);
        scan.add(packet);
        OSORA_TRY_VOID(scan.read_on(packet));
        OSORA_TRY(auto plan, scan.plan());
        if (plan && !plan->by_count && plan->key_packet == 0) {
            return std::optional(WindowStart{.plan = std::move(*plan), .seek = key->entry});
        }
        if (plan || key->frames_before == 0) break;
        frame = key->frames_before - 1;
    }
    return std::optional<WindowStart>();
}

/// By reading packets from the first one on.
Result<WindowStart> plan_by_scan(Demuxer& demuxer, FrameWindow const& window, AVPacket& packet) {
    OSORA_TRY_VOID(demuxer.rewind());
    Scan scan(demuxer, window, /*frames_before=*/0, /*from_first=*/true);
    OSORA_TRY_VOID(scan.read_on(packet));
    OSORA_TRY(auto plan, scan.plan());
    if (!plan) return Error{Errc::corrupt, "no keyframe at or before the window"};
    return WindowStart{.plan = std::move(*plan), .seek = std::nullopt};
}

}  // namespace

Result<bool> index_counts(Demuxer& demuxer, AVPacket& packet) {
    OSORA_TRY_VOID(demuxer.rewind());
    OSORA_TRY(bool const more, demuxer.read(packet));
    if (!more) return true;
    AVCodecParameters const& codec = *demuxer.stream()->codecpar;
    return !starts_without_past(packet, codec) && codec.codec_id != AV_CODEC_ID_VP8;
}

Result<WindowStart> find_start(Demuxer& demuxer, FrameWindow const& window, AVPacket& packet) {
    if (demuxer.has_index()) {
        OSORA_TRY(auto start, plan_by_index(demuxer, window, packet));
        if (start && !demuxer.changed_headers()) return std::move(*start);
    }
    return plan_by_scan(demuxer, window, packet);
}

Result<void> go_to_start(Demuxer& demuxer, WindowStart const& start, AVPacket& packet) {
    if (start.seek) {
        OSORA_TRY(bool const found, find_packet(demuxer, *start.seek, packet));
        if (!found) return Error{Errc::corrupt, "seek: the keyframe is not where it was"};
        return {};
    }
    OSORA_TRY_VOID(demuxer.rewind());
    for (std::size_t i = 0; i <= start.plan.key_packet; ++i) {
        OSORA_TRY(bool const more, demuxer.read(packet));
        if (!more) return Error{Errc::corrupt, "read: the file became shorter"};
    }
    return demuxer.add_headers(packet);
}

}  // namespace osora::worker
