// Scores of one clip, and why it has none; used by `osora data score` and by the ranks of job =
// "score".
#pragma once

#include "base/result.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/score_file.hpp"
#include "worker/clips/text_reader.hpp"
#include "worker/data/manifest.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

/// The same for each clip of a list.
struct AskedScores {
    bool motion = false, blur = false, cuts = false, brightness = false, text = false;
    int frames = 16;         // sampled of each clip, evenly spread; text reads 4 of them at most
    double deadline_s = 30;  // for one clip

    [[nodiscard]] std::vector<std::string> columns() const;
};

/// invalid_input: no score or an unknown one, or a number out of its range.
[[nodiscard]] Result<AskedScores> asked_scores(std::vector<std::string> const& names, int frames,
                                               double deadline_s);

struct ScoredClip {
    ScoreRow row;  // of a clip that cannot be scored: empty cells, and the error
    std::optional<ClipFault> fault;
};

/// What one thread needs to score clips.
struct ScoreTools {
    std::unique_ptr<TextReader> text = nullptr;  // needed if text is asked for
    std::atomic<bool> const* cancel = nullptr;   // true: the clip ends soon, with an error
};

/// Tools of one thread. invalid_input: text is asked for, and this build cannot read it.
[[nodiscard]] Result<ScoreTools> score_tools(AskedScores const& asked);

/// Opens `listed` and decodes what the scores need: the sampled frames at 256 pixels on the short
/// side; for cuts all frames, at 64; for text at most 4 of the sampled ones, at 720 at most.
[[nodiscard]] ScoredClip score_clip(ListedClip const& listed, AskedScores const& asked,
                                    ScoreTools const& tools);

/// Size and modification time of the file go to `row`; 0 if it is not there.
void stat_clip(std::string const& path, ScoreRow& row);

}  // namespace osora::worker
