// Workers look at one clip each; what is wrong with a clip is an answer, never an error of the
// check.
#include "worker/clips/check.hpp"

#include "protocol/json.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/in_order.hpp"
#include "worker/data/listed_size.hpp"
#include "worker/data/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

Texts request_of(Clip const& clip) {
    return {clip.path, std::to_string(clip.num_frames), std::to_string(clip.height),
            std::to_string(clip.width)};
}

/// The clip of such a request.
Result<Clip> clip_of(Texts const& texts) {
    if (texts.size() != 4) return Error{Errc::corrupt, "osora is of another version"};
    Clip clip;
    clip.path = texts[0];
    std::array const numbers{&clip.num_frames, &clip.height, &clip.width};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::string const& text = texts[i + 1];
        std::from_chars(text.data(), text.data() + text.size(), *numbers[i]);
    }
    return clip;
}

/// Answers with nothing, or with a fault.
ClipWork checking(protocol::ClipCheckRequest const& request) {
    return [request](Texts const& texts) -> Result<Texts> {
        OSORA_TRY(auto const clip, clip_of(texts));
        auto fault = ClipChecker(clip, request).fault();
        if (!fault) return Texts{};
        return Texts{std::move(fault->kind), std::move(fault->reason)};
    };
}

Result<std::optional<ClipFault>> fault_found(ClipWorker& worker, Clip const& clip) {
    OSORA_TRY(auto answer, worker.ask(request_of(clip)));
    if (!answer.texts.empty()) return Error{Errc::corrupt, "osora-clips is of another version"};
    return std::move(answer.fault);
}

}  // namespace

Result<void> verify_clips(protocol::ClipCheckRequest const& request) {
    OSORA_TRY_VOID(check_request(request));
    return serve_clips(checking(request));
}

Result<protocol::ClipCheck> check_clips(protocol::ClipCheckRequest const& request,
                                        ReaderProgram const& program) {
    OSORA_TRY_VOID(check_request(request));
    OSORA_TRY(std::vector<ListedClip> const clips, list_clips(request.manifest, request.columns));
    protocol::ClipCheckRequest asked = request;
    asked.workers = 0;
    ClipChild::Options const options{.arguments = {"verify", protocol::encode(asked)},
                                     .deadline_s = request.deadline_s,
                                     .count = std::make_shared<CrashCount>()};
    std::vector<std::unique_ptr<ClipWorker>> checkers;
    for (int i = 0; i < std::max(1, request.workers); ++i)
        checkers.push_back(std::make_unique<ClipWorker>(program, options, checking(asked)));
    using Checked = Result<std::optional<ClipFault>>;
    std::vector<Checked> slots(in_order_slots(request.workers), Checked(std::nullopt));
    protocol::ClipCheck answer{.mode = request.full ? "full" : "quick",
                               .checked = static_cast<std::int64_t>(clips.size()),
                               .damaged = {}};
    Result<void> done;
    auto const make = [&](InOrderPiece const& piece) {
        ListedClip const& listed = clips[piece.index];
        slots[piece.slot] = listed.fault.empty() ? fault_found(*checkers[piece.worker], listed.clip)
                                                 : Checked(ClipFault{"row", listed.fault});
    };
    auto const take = [&](InOrderPiece const& piece) {
        ListedClip const& listed = clips[piece.index];
        Checked& checked = slots[piece.slot];
        if (checked.has_error()) {
            done = checked.error();
        } else if (*checked) {
            answer.damaged.push_back(
                damaged_clip(listed.clip.line, listed.name, std::move(**checked)));
        }
        return !done.has_error();
    };
    run_in_order(clips.size(), request.workers, {.make = make, .take = take});
    if (done.has_error()) return done.error();
    return answer;
}

}  // namespace osora::worker
