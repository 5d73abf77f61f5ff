// What `osora data score` requests of osora-clips, and the answer: one JSON object each way.
#pragma once

#include "protocol/clip_requests.hpp"

namespace osora::protocol {

struct ClipScoreRequest {
    std::string manifest;
    std::vector<std::string> scores;                  // motion, blur, cuts, brightness
    int frames = 16;                                  // sampled of each clip
    std::string out;                                  // the CSV
    bool resume = false;                              // keep rows of `out` and of out.part
    double deadline_s = 30;                           // per clip
    bool progress = false;                            // on stderr
    int workers = 0;                                  // threads; 0: the calling one
    std::map<std::string, std::string> columns = {};  // of the manifest, as [data] columns
};
BOOST_DESCRIBE_STRUCT(ClipScoreRequest, (),
                      (manifest, scores, frames, out, resume, deadline_s, progress, workers,
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
