#include "worker/clips/isolate/child_reader.hpp"

#include "protocol/clip_score.hpp"
#include "protocol/json.hpp"
#include "worker/clips/model_frames.hpp"

#include <array>
#include <utility>

namespace osora::worker {
namespace {

/// A fault's kind and reason, the cells, and the pixels of each model.
Result<DecodedClip> decoded_of(Texts&& texts, AskedScores const& asked) {
    constexpr std::size_t kBefore = 2;
    std::size_t const cells = asked.columns().size() - 2 * asked.models.size();
    DecodedClip made;
    if (texts.size() >= kBefore && !texts[0].empty()) {
        made.fault = ClipFault{.kind = std::move(texts[0]), .reason = std::move(texts[1])};
        return made;
    }
    if (texts.size() != kBefore + cells + asked.models.size())
        return Error{Errc::corrupt, "osora-clips is of another version"};
    auto const pixels = texts.begin() + static_cast<std::ptrdiff_t>(kBefore + cells);
    made.cells.assign(texts.begin() + kBefore, pixels);
    for (std::size_t i = 0; i < asked.models.size(); ++i) {
        auto const picture = picture_of(asked.models[i].score);
        auto const& bytes = pixels[static_cast<std::ptrdiff_t>(i)];
        RgbFrames frames{.pixels = {bytes.begin(), bytes.end()},
                         .frames = bytes.empty() ? 0 : picture.frames,
                         .height = picture.height,
                         .width = picture.width};
        if (frames.pixels.size() != static_cast<std::size_t>(frames.frames) * frames.frame_bytes())
            return Error{Errc::corrupt, "osora-clips is of another version"};
        made.of_models.push_back(std::move(frames));
    }
    return made;
}

class ChildReader : public ClipReader {
public:
    ChildReader(ReaderProgram program, AskedScores asked, std::shared_ptr<CrashCount> count)
        : asked_(std::move(asked)),
          child_(std::move(program), {.arguments = {"read", read_request(asked_)},
                                      .deadline_s = asked_.deadline_s,
                                      .count = std::move(count)}) {}

    [[nodiscard]] Result<DecodedClip> read(std::string const& path,
                                           std::atomic<bool> const* cancel) override {
        OSORA_TRY(auto answer, child_.ask({path}, cancel));
        if (answer.fault) return DecodedClip{.fault = std::move(answer.fault)};
        return decoded_of(std::move(answer.texts), asked_);
    }

private:
    AskedScores asked_;
    ClipChild child_;
};

}  // namespace

std::unique_ptr<ClipReader> child_reader(ReaderProgram program, AskedScores asked,
                                         std::shared_ptr<CrashCount> count) {
    return std::make_unique<ChildReader>(std::move(program), std::move(asked), std::move(count));
}

std::string read_request(AskedScores const& asked) {
    protocol::ClipScoreRequest request;
    request.frames = asked.frames;
    request.deadline_s = asked.deadline_s;
    std::array const names{std::pair{"motion", asked.motion}, std::pair{"blur", asked.blur},
                           std::pair{"cuts", asked.cuts}, std::pair{"brightness", asked.brightness},
                           std::pair{"text", asked.text}};
    for (auto const& [name, wanted] : names) {
        if (wanted) request.scores.emplace_back(name);
    }
    for (auto const& each : asked.models) request.models[each.score] = "";
    return protocol::encode(request);
}

}  // namespace osora::worker
