// Workers score one clip each; the calling thread writes the rows in the order of the list.
#include "worker/clips/score.hpp"

#include "base/robust.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/frame_scores.hpp"
#include "worker/clips/in_order.hpp"
#include "worker/clips/progress.hpp"
#include "worker/clips/score_file.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/manifest.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace osora::worker {
namespace {

using ScoreClock = std::chrono::steady_clock;

constexpr int kScoreSide = 256, kCutSide = 64;  // pixels of the short side
constexpr int kSideRatioMax = 4;                // longer pictures are cropped
constexpr int kCutChunk = 256;                  // frames decoded at one time

struct Asked {
    bool motion = false, blur = false, cuts = false, brightness = false;

    [[nodiscard]] bool samples() const { return motion || blur || brightness; }
    [[nodiscard]] std::vector<std::string> columns() const {
        std::vector<std::string> names;
        if (motion) names.emplace_back("motion");
        if (blur) names.emplace_back("blur");
        if (cuts) names.insert(names.end(), {"cuts", "cut_frames"});
        if (brightness) names.insert(names.end(), {"brightness", "black"});
        return names;
    }
};

Result<Asked> asked_of(protocol::ClipScoreRequest const& request) {
    constexpr double kDeadlineMax = 86'400;
    constexpr int kWorkersMax = 1024, kFramesMax = 64;
    bool const good = request.deadline_s > 0 && request.deadline_s <= kDeadlineMax &&
                      request.workers >= 0 && request.workers <= kWorkersMax &&
                      request.frames >= 2 && request.frames <= kFramesMax && !request.out.empty();
    if (!good) return invalid("score: a number is out of its range");
    std::error_code ignored;
    if (std::filesystem::equivalent(request.out, request.manifest, ignored))
        return invalid(request.out + ": is the manifest itself; give another file");
    Asked asked;
    for (std::string const& name : request.scores) {
        if (name == "motion") asked.motion = true;
        if (name == "blur") asked.blur = true;
        if (name == "cuts") asked.cuts = true;
        if (name == "brightness") asked.brightness = true;
    }
    if (asked.columns().empty()) return invalid("score: no score is asked for");
    return asked;
}

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
class ClipScorer {
public:
    ClipScorer(std::string const& path, Asked const& asked,
               protocol::ClipScoreRequest const& request)
        : path_(path),
          asked_(asked),
          request_(request),
          until_(ScoreClock::now() + std::chrono::duration_cast<ScoreClock::duration>(
                                         std::chrono::duration<double>(request.deadline_s))) {}

    Result<std::vector<std::string>> cells() const {
        OSORA_TRY(auto const facts, decoder().probe(path_));
        std::vector<std::string> cells;
        LumaFrames luma;
        if (asked_.samples()) {
            OSORA_TRY(auto const frames, decode(spread(facts.num_frames, request_.frames),
                                                score_size(facts, kScoreSide)));
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
        return cells;
    }

private:
    Result<void> add_cuts(ClipFacts const& facts, std::vector<std::string>& cells) const {
        CutFinder finder;
        for (int start = 0; start < facts.num_frames; start += kCutChunk) {
            FrameWindow const window{.start = start,
                                     .stride = 1,
                                     .num_frames = std::min(kCutChunk, facts.num_frames - start)};
            OSORA_TRY(auto const frames, decode(window, score_size(facts, kCutSide)));
            for (int i = 0; i < frames.frames; ++i) finder.add(frames.frame(i));
        }
        std::string numbers;
        for (auto const cut : finder.cuts())
            numbers += fmt::format("{}{}", numbers.empty() ? "" : " ", cut);
        cells.push_back(std::to_string(finder.cuts().size()));
        cells.push_back(std::move(numbers));
        return {};
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
        return ClipDecoder({.deadline_s = std::max(0.0, left.count())});
    }

    std::string const& path_;
    Asked const& asked_;
    protocol::ClipScoreRequest const& request_;
    ScoreClock::time_point until_;
};

struct ScoredSlot {
    ScoreRow row;
    std::optional<ClipFault> fault;
    bool kept = false;
};

ScoredSlot score_clip(ListedClip const& listed, Asked const& asked, ScoreRows const& had,
                      protocol::ClipScoreRequest const& request) {
    ScoredSlot made;
    made.row.path = listed.name;
    made.row.frames = request.frames;
    std::string const& path = listed.clip.path;
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) {  // otherwise the decoder says why
        made.row.size_bytes = info.st_size;
        made.row.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000ll + info.st_mtim.tv_nsec;
    }
    auto const found = had.find(listed.name);
    bool const same = listed.fault.empty() && found != had.end() &&
                      found->second.frames == request.frames &&
                      found->second.size_bytes == made.row.size_bytes &&
                      found->second.mtime_ns == made.row.mtime_ns;
    auto const is_said = [](std::string const& cell) { return !cell.empty(); };
    if (same && std::ranges::any_of(found->second.cells, is_said)) {  // it was not damaged
        made.row = found->second;
        made.kept = true;
        return made;
    }
    auto cells = listed.fault.empty() ? ClipScorer(path, asked, request).cells()
                                      : Result<std::vector<std::string>>(invalid(listed.fault));
    if (cells) {
        made.row.cells = std::move(*cells);
        return made;
    }
    made.row.cells.assign(asked.columns().size(), "");
    made.fault = listed.fault.empty() ? fault_of(cells.error(), path, request.deadline_s)
                                      : ClipFault{.kind = "row", .reason = listed.fault};
    return made;
}

/// Rows go to the file and to the answer, in order.
class ScoreTaker {
public:
    ScoreTaker(ScoreFile& file, std::vector<std::string> columns, protocol::ClipScores& answer)
        : file_(file), columns_(std::move(columns)), values_(columns_.size()), answer_(answer) {}

    [[nodiscard]] Result<void> take(ListedClip const& listed, ScoredSlot& made) {
        if (made.fault) {
            answer_.damaged.push_back(
                damaged_clip(listed.clip.line, listed.name, std::move(*made.fault)));
        } else {
            ++(made.kept ? answer_.kept : answer_.scored);
        }
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            std::string const& cell = made.row.cells[i];
            if (!cell.empty() && columns_[i] != "cut_frames")
                values_[i].push_back(std::strtod(cell.c_str(), nullptr));
        }
        // A clip that failed is tried again.
        return file_.add(made.row, !made.kept && !made.fault);
    }

    void finish() {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            auto& values = values_[i];
            if (values.empty()) continue;
            auto const [least, most] = std::ranges::minmax(values);
            answer_.scores[columns_[i]] = {.clips = static_cast<std::int64_t>(values.size()),
                                           .least = least,
                                           .median = median(values),
                                           .most = most};
        }
    }

private:
    ScoreFile& file_;
    std::vector<std::string> columns_;
    std::vector<std::vector<double>> values_;
    protocol::ClipScores& answer_;
};

}  // namespace

Result<protocol::ClipScores> score_clips(protocol::ClipScoreRequest const& request) {
    OSORA_TRY(Asked const asked, asked_of(request));
    auto const begin = ScoreClock::now();
    OSORA_TRY(auto const clips, list_clips(request.manifest, request.columns));
    OSORA_TRY(auto file, ScoreFile::open(request.out, asked.columns(), request.resume));
    protocol::ClipScores answer{.out = request.out,
                                .rows = static_cast<std::int64_t>(clips.size()),
                                .scores = {},
                                .damaged = {}};
    ClipProgress progress(request.progress, answer.rows);
    ScoreTaker taker(file, asked.columns(), answer);
    std::vector<ScoredSlot> slots(in_order_slots(request.workers));
    Result<void> done;
    auto const make = [&](InOrderPiece const& piece) {
        slots[piece.slot] = score_clip(clips[piece.index], asked, file.had(), request);
    };
    auto const take = [&](InOrderPiece const& piece) {
        done = taker.take(clips[piece.index], slots[piece.slot]);
        progress.step(static_cast<std::int64_t>(piece.index) + 1);
        return done.has_value();
    };
    run_in_order(clips.size(), request.workers, {.make = make, .take = take});
    if (done.has_error()) return done.error();
    taker.finish();
    OSORA_TRY_VOID(file.finish());
    answer.seconds = std::chrono::duration<double>(ScoreClock::now() - begin).count();
    return answer;
}

}  // namespace osora::worker
