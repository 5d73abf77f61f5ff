#include "worker/clips/clip_reader.hpp"

#include "base/text/printable.hpp"
#include "protocol/clip_score.hpp"
#include "worker/clips/frame_scores.hpp"
#include "worker/clips/model_frames.hpp"
#include "worker/data/frames/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

namespace osora::worker {
namespace {

using ScoreClock = std::chrono::steady_clock;

constexpr int kScoreSide = 256, kCutSide = 64;  // pixels of the short side
constexpr int kTextSideMax = 720;               // likewise; smaller pictures keep their size
constexpr int kTextFramesMax = 4;               // read of a clip
constexpr int kSideRatioMax = 4;                // longer pictures are cropped
constexpr int kSingleStride = 250;              // x264's and x265's largest keyframe distance

/// With the clip's aspect ratio, `side` pixels on the short side.
FrameSize score_size(ClipFacts const& facts, int side) {
    int const least = std::min(facts.height, facts.width);
    auto const scaled = [&](int length) {
        double const pixels = static_cast<double>(length) * side / least;
        return static_cast<int>(std::min<double>(std::lround(pixels), kSideRatioMax * side));
    };
    return {.height = scaled(facts.height), .width = scaled(facts.width)};
}

/// `count` frames at one distance, in the middle of the clip.
FrameWindow spread(int num_frames, int count) {
    int const taken = std::min(num_frames, count);
    int const stride = taken > 1 ? (num_frames - 1) / (taken - 1) : 1;
    return {.start = (num_frames - 1 - (taken - 1) * stride) / 2,
            .stride = stride,
            .num_frames = taken};
}

/// One clip, with one deadline for all that is done.
class ClipDecoding {
public:
    ClipDecoding(std::string const& path, AskedScores const& asked, TextReader* text,
                 std::atomic<bool> const* cancel)
        : path_(path),
          asked_(asked),
          text_(text),
          cancel_(cancel),
          until_(ScoreClock::now() + std::chrono::duration_cast<ScoreClock::duration>(
                                         std::chrono::duration<double>(asked.deadline_s))) {}

    [[nodiscard]] Result<DecodedClip> decoded() const {
        auto probe = decoder();
        OSORA_TRY(auto const facts, probe.probe(path_));
        DecodedClip made;
        auto& cells = made.cells;
        LumaFrames luma;
        if (asked_.motion || asked_.blur || asked_.brightness) {
            OSORA_TRY(auto const frames,
                      sampled(facts, asked_.frames, score_size(facts, kScoreSide)));
            luma = luma_of(frames);
        }
        auto const add = [&cells](double score) { cells.push_back(fmt::format("{:.6g}", score)); };
        if (asked_.motion && luma.frames < 2) cells.emplace_back();  // an image
        if (asked_.motion && luma.frames >= 2) add(motion_score(luma));
        if (asked_.blur) add(blur_score(luma));
        if (asked_.cuts) OSORA_TRY_VOID(add_cuts(facts, cells));
        if (asked_.brightness) {
            add(brightness_score(luma));
            add(black_share(luma));
        }
        if (asked_.text) OSORA_TRY_VOID(add_text(facts, cells));
        for (auto const& each : asked_.models) {
            OSORA_TRY(auto frames, of_model(facts, each.score));
            made.of_models.push_back(std::move(frames));
        }
        return made;
    }

private:
    Result<void> add_cuts(ClipFacts const& facts, std::vector<std::string>& cells) const {
        CutFinder finder;
        FrameWindow const all{.start = 0, .stride = 1, .num_frames = facts.num_frames};
        auto const add = [&finder](int index, std::span<std::uint8_t const> rgb) {
            if (index == 0) finder = CutFinder();
            finder.add(rgb);
        };
        OSORA_TRY_VOID(decoder().decode_each(path_, all, score_size(facts, kCutSide), add));
        std::string numbers;
        for (auto const cut : finder.cuts())
            numbers += fmt::format("{}{}", numbers.empty() ? "" : " ", cut);
        cells.push_back(std::to_string(finder.cuts().size()));
        cells.push_back(std::move(numbers));
        return {};
    }

    /// The mean share of the picture, and the boxes of the frame that has most of them.
    Result<void> add_text(ClipFacts const& facts, std::vector<std::string>& cells) const {
        int const side = std::min({facts.height, facts.width, kTextSideMax});
        int const count = std::min(asked_.frames, kTextFramesMax);
        OSORA_TRY(auto const frames, sampled(facts, count, score_size(facts, side)));
        double share = 0;
        int boxes = 0;
        for (int i = 0; i < frames.frames; ++i) {
            if (ScoreClock::now() > until_)
                return Error{Errc::timed_out, "reading the text of its frames"};
            OSORA_TRY(auto const found, text_->read({.rgb = frames.frame(i),
                                                     .height = frames.height,
                                                     .width = frames.width}));
            share += covered_share(found, frames.height, frames.width) / frames.frames;
            boxes = std::max(boxes, static_cast<int>(found.size()));
        }
        cells.push_back(fmt::format("{:.6g}", share));
        cells.push_back(std::to_string(boxes));
        return {};
    }

    /// None of an image for flow.
    [[nodiscard]] Result<RgbFrames> of_model(ClipFacts const& facts,
                                             std::string const& score) const {
        auto const picture = picture_of(score);
        if (picture.input == ModelInput::pairs && facts.num_frames < 2) return RgbFrames();
        bool const turned = picture.transposed && facts.height > facts.width;
        FrameSize const size{.height = turned ? picture.width : picture.height,
                             .width = turned ? picture.height : picture.width};
        OSORA_TRY(auto frames, chosen(frames_of(score, facts.num_frames), size));
        return turned ? transposed(frames) : std::move(frames);
    }

    /// Frames in ascending order; each is decoded once.
    [[nodiscard]] Result<RgbFrames> chosen(std::vector<std::int64_t> const& frames,
                                           FrameSize size) const {
        RgbFrames all{.pixels = {},
                      .frames = static_cast<int>(frames.size()),
                      .height = size.height,
                      .width = size.width};
        RgbFrames last;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            if (i == 0 || frames[i] != frames[i - 1]) {
                OSORA_TRY(last, decode({.start = frames[i]}, size));
            }
            all.pixels.insert(all.pixels.end(), last.pixels.begin(), last.pixels.end());
        }
        return all;
    }

    /// Frames that are far apart are decoded one by one, each from the keyframe before it.
    [[nodiscard]] Result<RgbFrames> sampled(ClipFacts const& facts, int count,
                                            FrameSize size) const {
        FrameWindow const window = spread(facts.num_frames, count);
        if (window.stride < kSingleStride) return decode(window, size);
        RgbFrames all{
            .pixels = {}, .frames = window.num_frames, .height = size.height, .width = size.width};
        for (int i = 0; i < window.num_frames; ++i) {
            FrameWindow const single{.start = window.start + std::int64_t{i} * window.stride};
            OSORA_TRY(auto const frame, decode(single, size));
            all.pixels.insert(all.pixels.end(), frame.pixels.begin(), frame.pixels.end());
        }
        return all;
    }

    [[nodiscard]] Result<RgbFrames> decode(FrameWindow const& window, FrameSize size) const {
        RgbFrames frames{
            .pixels = {}, .frames = window.num_frames, .height = size.height, .width = size.width};
        frames.pixels.resize(static_cast<std::size_t>(frames.frames) * frames.frame_bytes());
        OSORA_TRY_VOID(decoder().decode(path_, window, size, frames.pixels));
        return frames;
    }

    [[nodiscard]] ClipDecoder decoder() const {
        std::chrono::duration<double> const left = until_ - ScoreClock::now();
        return ClipDecoder({.deadline_s = std::max(0.0, left.count()), .cancel = cancel_});
    }

    std::string const& path_;
    AskedScores const& asked_;
    TextReader* text_;
    std::atomic<bool> const* cancel_;
    ScoreClock::time_point until_;
};

class LocalReader : public ClipReader {
public:
    LocalReader(AskedScores asked, std::unique_ptr<TextReader> text)
        : asked_(std::move(asked)), text_(std::move(text)) {}
    [[nodiscard]] Result<DecodedClip> read(std::string const& path,
                                           std::atomic<bool> const* cancel) override {
        auto made = ClipDecoding(path, asked_, text_.get(), cancel).decoded();
        if (made.has_error())
            return DecodedClip{.fault = fault_of(made.error(), path, asked_.deadline_s)};
        return made;
    }

private:
    AskedScores asked_;
    std::unique_ptr<TextReader> text_;
};

}  // namespace

std::vector<std::string> AskedScores::columns() const {
    std::vector<std::string> names;
    if (motion) names.emplace_back("motion");
    if (blur) names.emplace_back("blur");
    if (cuts) names.insert(names.end(), {"cuts", "cut_frames"});
    if (brightness) names.insert(names.end(), {"brightness", "black"});
    if (text) names.insert(names.end(), {"text", "text_boxes"});
    for (auto const& each : models) names.insert(names.end(), {each.score, each.score + "_model"});
    return names;
}

ModelColumns AskedScores::model_columns() const {
    ModelColumns columns;
    for (auto const& each : models) columns[each.score + "_model"] = each.hash;
    return columns;
}

Result<AskedScores> asked_scores(std::vector<std::string> const& names, int frames,
                                 double deadline_s,
                                 std::map<std::string, std::string> const& models) {
    constexpr double kDeadlineMax = 86'400;
    bool const good = deadline_s > 0 && deadline_s <= kDeadlineMax && frames >= 1 &&
                      frames <= protocol::kScoreFramesMax;
    if (!good) return invalid("score: a number is out of its range");
    AskedScores asked{.frames = frames, .deadline_s = deadline_s};
    for (std::string const& name : names) {
        if (std::ranges::find(protocol::kClipScores, name) == protocol::kClipScores.end())
            return invalid("score: '" + printable(name) + "' is unknown");
        if (name == "motion") asked.motion = true;
        if (name == "blur") asked.blur = true;
        if (name == "cuts") asked.cuts = true;
        if (name == "brightness") asked.brightness = true;
        if (name == "text") asked.text = true;
    }
    for (std::string_view const each : protocol::kModelScores) {
        std::string const name(each);
        auto const file = models.find(name);
        if (file != models.end()) {
            auto hash = file->second.empty() ? Result<std::string>("") : model_hash(file->second);
            if (hash.has_error()) return invalid(name + ": " + hash.error().message);
            asked.models.push_back({name, file->second, std::move(*hash)});
        } else if (std::ranges::find(names, name) != names.end()) {
            return invalid("score: " + name + " needs a TorchScript file");
        }
    }
    if (asked.columns().empty()) return invalid("score: no score is asked for");
    return asked;
}

std::unique_ptr<ClipReader> local_reader(AskedScores asked, std::unique_ptr<TextReader> text) {
    return std::make_unique<LocalReader>(std::move(asked), std::move(text));
}

}  // namespace osora::worker
