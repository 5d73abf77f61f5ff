// Scores of one clip, and why it has none; used by `osora data score` and by the ranks of job =
// "score".
#pragma once

#include "base/result.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/clip_model.hpp"
#include "worker/clips/score_file.hpp"
#include "worker/clips/text_reader.hpp"
#include "worker/data/manifest.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

/// A score by a TorchScript file. Its column is followed by SCORE_model, the hash of the file: so
/// each row says which model it is of.
struct AskedModel {
    std::string score;  // of protocol::kModelScores
    std::string file;
    std::string hash;  // model_hash()
};

/// The same for each clip of a list.
struct AskedScores {
    bool motion = false, blur = false, cuts = false, brightness = false, text = false;
    int frames = 16;         // sampled of each clip, evenly spread; text reads 4 of them at most
    double deadline_s = 30;  // for one clip
    std::vector<AskedModel> models = {};  // in the order of protocol::kModelScores

    [[nodiscard]] std::vector<std::string> columns() const;
    [[nodiscard]] ModelColumns model_columns() const;
};

/// Reads the files of `models` (by score, which need not be among `names`) for their hashes.
/// invalid_input: no score or an unknown one, a score without its file, a file that is missing or
/// cannot be read, or a number out of its range.
[[nodiscard]] Result<AskedScores> asked_scores(
    std::vector<std::string> const& names, int frames, double deadline_s,
    std::map<std::string, std::string> const& models = {});

struct ScoredClip {
    ScoreRow row;  // of a clip that cannot be scored: empty cells, and the error
    std::optional<ClipFault> fault;
};

/// What one thread needs to score clips.
struct ScoreTools {
    std::unique_ptr<TextReader> text = nullptr;  // needed if text is asked for
    std::atomic<bool> const* cancel = nullptr;   // true: the clip ends soon, with an error
    /// As AskedScores::models; all threads have the same.
    std::vector<std::shared_ptr<ClipModel const>> models = {};
};

/// Tools of each of `threads`; models compute on the GPU of `local_rank`, if there is one.
/// invalid_input: text is asked for, and this build cannot read it; a model that cannot be used.
[[nodiscard]] Result<std::vector<ScoreTools>> score_tools(AskedScores const& asked, int threads,
                                                          int local_rank);

/// Opens `listed` and decodes what the scores need: the sampled frames at 256 pixels on the short
/// side; for cuts all frames, at 64; for text at most 4 of the sampled ones, at 720 at most; for
/// models the frames of model_frames.hpp. A model that gives no number leaves its cell empty, and
/// the row has a fault beside its other scores.
[[nodiscard]] ScoredClip score_clip(ListedClip const& listed, AskedScores const& asked,
                                    ScoreTools const& tools);

/// Size and modification time of the file go to `row`; 0 if it is not there.
void stat_clip(std::string const& path, ScoreRow& row);

}  // namespace osora::worker
