// Scores of one clip, and why it has none; used by `osora data score` and by the ranks of job =
// "score".
#pragma once

#include "base/result.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/clip_model.hpp"
#include "worker/clips/clip_reader.hpp"
#include "worker/clips/isolate/child_reader.hpp"
#include "worker/clips/score_file.hpp"
#include "worker/data/manifest.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

struct ScoredClip {
    ScoreRow row;  // of a clip that cannot be scored: empty cells, and the error
    std::optional<ClipFault> fault;
};

/// What one thread needs to score clips.
struct ScoreTools {
    std::unique_ptr<ClipReader> reader = nullptr;
    std::atomic<bool> const* cancel = nullptr;  // true: the clip ends soon, with a fault
    /// As AskedScores::models; all threads have the same.
    std::vector<std::shared_ptr<ClipModel const>> models = {};
};

struct ScoreToolOptions {
    int threads = 1;
    int local_rank = 0;         // models compute on its GPU, if there is one
    ReaderProgram reader = {};  // decodes clips; without a program this process does
};

/// Tools of each thread. invalid_input: text is asked for, and this build cannot read it; a model
/// that cannot be used.
[[nodiscard]] Result<std::vector<ScoreTools>> score_tools(AskedScores const& asked,
                                                          ScoreToolOptions const& options);

/// Reads `listed` and scores it. A model that gives no number leaves its cell empty, and the row
/// has a fault beside its other scores. Errors: those of ClipReader::read().
[[nodiscard]] Result<ScoredClip> score_clip(ListedClip const& listed, AskedScores const& asked,
                                            ScoreTools const& tools);

/// Size and modification time of the file go to `row`; 0 if it is not there.
void stat_clip(std::string const& path, ScoreRow& row);

}  // namespace osora::worker
