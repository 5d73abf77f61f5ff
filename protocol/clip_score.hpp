// What `osora data score` requests of osora-clips, and the answer: one JSON object each way.
#pragma once

#include "protocol/clip_requests.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace osora::protocol {

/// Scores that can be asked for, in the order of their columns.
inline constexpr std::array<std::string_view, 7> kClipScores{
    "motion", "blur", "cuts", "brightness", "text", "aesthetic", "flow"};
/// Those of kClipScores that a TorchScript file gives.
inline constexpr std::array<std::string_view, 2> kModelScores{"aesthetic", "flow"};
inline constexpr int kScoreFrames = 16, kScoreFramesMax = 64;  // sampled of each clip

/// `scores` and those that `models` (files by score) give.
[[nodiscard]] inline std::vector<std::string> asked_names(
    std::vector<std::string> scores, std::map<std::string, std::string> const& models) {
    for (auto const& [score, file] : models) {
        if (std::ranges::find(scores, score) == scores.end()) scores.push_back(score);
    }
    return scores;
}

/// Of one clip, unless the user gives another one; cuts decode every frame, text and models are
/// slow. `scores`: all that are asked for.
[[nodiscard]] inline double score_deadline_s(std::vector<std::string> const& scores) {
    bool const slow = std::ranges::any_of(scores, [](std::string const& name) {
        return name != "motion" && name != "blur" && name != "brightness";
    });
    return slow ? 600 : 30;
}

/// What the user sees where the program that reads text is not there.
inline constexpr std::string_view kNoTextReader =
    "this build has no Tesseract; install libtesseract-dev and tesseract-ocr-eng and rebuild";

struct ClipScoreRequest {
    std::string manifest;
    std::vector<std::string> scores;                  // of kClipScores
    std::map<std::string, std::string> models = {};   // TorchScript files by score: kModelScores
    int frames = kScoreFrames;                        // sampled of each clip
    std::string out;                                  // the CSV
    bool resume = false;                              // keep rows of `out` and of out.part
    double deadline_s = 30;                           // per clip
    bool progress = false;                            // on stderr
    int workers = 0;                                  // threads; 0: the calling one
    std::map<std::string, std::string> columns = {};  // of the manifest, as [data] columns
};
BOOST_DESCRIBE_STRUCT(ClipScoreRequest, (),
                      (manifest, scores, models, frames, out, resume, deadline_s, progress, workers,
                       columns))

/// Over the clips that have the score.
struct ScoreRange {
    std::int64_t clips = 0;
    double least = 0, median = 0, most = 0;
};
BOOST_DESCRIBE_STRUCT(ScoreRange, (), (clips, least, median, most))

struct ClipScores {
    std::string schema = "osora.data_score/1";
    std::string out;
    std::int64_t rows = 0;    // of the manifest
    std::int64_t scored = 0;  // clips that were decoded
    std::int64_t kept = 0;    // rows of an earlier run
    double seconds = 0;
    std::map<std::string, ScoreRange> scores;  // by column
    std::vector<DamagedClip> damaged;  // in the order of the manifest; their cells are empty
};
BOOST_DESCRIBE_STRUCT(ClipScores, (), (schema, out, rows, scored, kept, seconds, scores, damaged))

}  // namespace osora::protocol
