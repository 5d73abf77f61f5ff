// Workers score one clip each; the calling thread writes the rows in the order of the list.
#include "worker/clips/score.hpp"

#include "base/robust.hpp"
#include "worker/clips/clip_scorer.hpp"
#include "worker/clips/progress.hpp"
#include "worker/clips/score_file.hpp"
#include "worker/data/in_order.hpp"
#include "worker/data/manifest.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

namespace osora::worker {
namespace {

using ScoreClock = std::chrono::steady_clock;

Result<AskedScores> asked_of(protocol::ClipScoreRequest const& request) {
    constexpr int kWorkersMax = 1024;
    if (request.workers < 0 || request.workers > kWorkersMax || request.out.empty())
        return invalid("score: a number is out of its range");
    std::error_code ignored;
    if (std::filesystem::equivalent(request.out, request.manifest, ignored))
        return invalid(request.out + ": is the manifest itself; give another file");
    return asked_scores(request.scores, request.frames, request.deadline_s, request.models);
}

struct ScoredSlot {
    ScoredClip scored;
    bool kept = false;
    Result<void> made = {};  // an error that concerns all clips
};

/// The row that is had, if the clip has not changed and was not damaged; else a new one.
ScoredSlot score_or_keep(ListedClip const& listed, AskedScores const& asked,
                         ScoreTools const& tools, ScoreRows const& had) {
    ScoreRow now;
    stat_clip(listed.clip.path, now);
    auto const found = had.find(listed.name);
    bool const same = listed.fault.empty() && found != had.end() && found->second.error.empty() &&
                      found->second.frames == asked.frames &&
                      found->second.size_bytes == now.size_bytes &&
                      found->second.mtime_ns == now.mtime_ns;
    if (same) return {.scored = {.row = found->second, .fault = std::nullopt}, .kept = true};
    auto scored = score_clip(listed, asked, tools);
    if (scored.has_error()) return {.scored = {}, .made = scored.error()};
    return {.scored = std::move(*scored)};
}

/// Rows go to the file and to the answer, in order.
class ScoreTaker {
public:
    ScoreTaker(ScoreFile& file, std::vector<std::string> columns, protocol::ClipScores& answer)
        : file_(file), columns_(std::move(columns)), values_(columns_.size()), answer_(answer) {}

    [[nodiscard]] Result<void> take(ListedClip const& listed, ScoredSlot& made) {
        OSORA_TRY_VOID(made.made);
        if (made.scored.fault) {
            answer_.damaged.push_back(
                damaged_clip(listed.clip.line, listed.name, std::move(*made.scored.fault)));
        } else {
            ++(made.kept ? answer_.kept : answer_.scored);
        }
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            std::string const& cell = made.scored.row.cells[i];
            if (!cell.empty() && columns_[i] != "cut_frames" && !columns_[i].ends_with("_model"))
                values_[i].push_back(std::strtod(cell.c_str(), nullptr));
        }
        // A clip that failed is tried again.
        return file_.add(made.scored.row, !made.kept && !made.scored.fault);
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

Result<protocol::ClipScores> score_clips(protocol::ClipScoreRequest const& request,
                                         ReaderProgram const& reader) {
    OSORA_TRY(AskedScores const asked, asked_of(request));
    auto const begin = ScoreClock::now();
    OSORA_TRY(auto const clips, list_clips(request.manifest, request.columns));
    OSORA_TRY(auto const tools, score_tools(asked, {.threads = request.workers, .reader = reader}));
    OSORA_TRY(auto file,
              ScoreFile::open(request.out, asked.columns(), request.resume, asked.model_columns()));
    protocol::ClipScores answer{.out = request.out,
                                .rows = static_cast<std::int64_t>(clips.size()),
                                .scores = {},
                                .damaged = {}};
    ClipProgress progress(request.progress, answer.rows);
    ScoreTaker taker(file, asked.columns(), answer);
    std::vector<ScoredSlot> slots(in_order_slots(request.workers));
    Result<void> done;
    auto const make = [&](InOrderPiece const& piece) {
        slots[piece.slot] =
            score_or_keep(clips[piece.index], asked, tools[piece.worker], file.had());
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
