// Workers look at one clip each; what is wrong with a clip is an answer, never an error of the
// check.
#include "worker/clips/check.hpp"

#include "worker/clips/clip_fault.hpp"
#include "worker/clips/in_order.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/listed_size.hpp"
#include "worker/data/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// One clip, with one deadline for all that is done.
class ClipChecker {
public:
    ClipChecker(Clip const& clip, protocol::ClipCheckRequest const& request)
        : clip_(clip),
          request_(request),
          until_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(request.deadline_s))) {}

    [[nodiscard]] std::optional<ClipFault> fault() const {
        auto const facts = decoder().probe(clip_.path);
        if (facts.has_error()) return named_fault(facts.error());
        if (facts->num_frames < clip_.num_frames) {
            return ClipFault{"short", fmt::format("it has {} frames, the row says {}",
                                                  facts->num_frames, clip_.num_frames)};
        }
        if (auto const size = size_fault(*facts)) return size;
        for (FrameWindow const& window : windows(facts->num_frames)) {
            auto const decoded = decoder().verify(clip_.path, window);
            if (decoded.has_error()) return named_fault(decoded.error());
        }
        return std::nullopt;
    }

private:
    /// Lists that ffprobe or PyAV made have the stored size; buckets go by the displayed one.
    [[nodiscard]] std::optional<ClipFault> size_fault(ClipFacts const& facts) const {
        if (clip_.height == 0 || clip_.width == 0) return std::nullopt;
        auto differs =
            size_difference({.height = clip_.height, .width = clip_.width}, sizes_of(facts));
        if (differs.empty()) return std::nullopt;
        return ClipFault{"size", std::move(differs)};
    }

    [[nodiscard]] std::vector<FrameWindow> windows(int frames) const {
        if (request_.full) return {{.start = 0, .stride = 1, .num_frames = frames}};
        std::vector<FrameWindow> windows{{.start = 0}};
        if (frames > 2) windows.push_back({.start = frames / 2});
        if (frames > 1) windows.push_back({.start = frames - 1});
        return windows;
    }

    [[nodiscard]] ClipDecoder decoder() const {
        std::chrono::duration<double> const left = until_ - Clock::now();
        return ClipDecoder({.deadline_s = std::max(0.0, left.count())});
    }

    [[nodiscard]] ClipFault named_fault(Error const& error) const {
        return fault_of(error, clip_.path, request_.deadline_s);
    }

    Clip const& clip_;
    protocol::ClipCheckRequest const& request_;
    Clock::time_point until_;
};

Result<void> check_request(protocol::ClipCheckRequest const& request) {
    constexpr double kDeadlineMax = 86'400;
    constexpr int kWorkersMax = 1024;
    bool const good = request.deadline_s > 0 && request.deadline_s <= kDeadlineMax &&
                      request.workers >= 0 && request.workers <= kWorkersMax;
    if (good) return {};
    return Error{Errc::invalid_input, "check: a number is out of its range"};
}

}  // namespace

Result<protocol::ClipCheck> check_clips(protocol::ClipCheckRequest const& request) {
    OSORA_TRY_VOID(check_request(request));
    OSORA_TRY(std::vector<ListedClip> const clips, list_clips(request.manifest, request.columns));
    std::vector<std::optional<ClipFault>> slots(in_order_slots(request.workers));
    protocol::ClipCheck answer{.mode = request.full ? "full" : "quick",
                               .checked = static_cast<std::int64_t>(clips.size()),
                               .damaged = {}};
    auto const make = [&](InOrderPiece const& piece) {
        ListedClip const& listed = clips[piece.index];
        slots[piece.slot] = listed.fault.empty() ? ClipChecker(listed.clip, request).fault()
                                                 : ClipFault{"row", listed.fault};
    };
    auto const take = [&](InOrderPiece const& piece) {
        ListedClip const& listed = clips[piece.index];
        if (auto& fault = slots[piece.slot]) {
            answer.damaged.push_back(
                damaged_clip(listed.clip.line, listed.name, std::move(*fault)));
        }
        return true;
    };
    run_in_order(clips.size(), request.workers, {.make = make, .take = take});
    return answer;
}

}  // namespace osora::worker
