// What is decoded of a clip for its scores: by this process, or by a process of its own
// (isolate/child_reader.hpp), so that a crash of FFmpeg costs one clip.
#pragma once

#include "base/result.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/score_file.hpp"
#include "worker/clips/text_reader.hpp"
#include "worker/data/frames/rgb_frames.hpp"

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

/// Reads the files of `models` (by score, which need not be among `names`) for their hashes; not
/// those without a name: for a process that only decodes. invalid_input: no score or an unknown
/// one, a score without its file, a file that is missing or cannot be read, or a number out of its
/// range.
[[nodiscard]] Result<AskedScores> asked_scores(
    std::vector<std::string> const& names, int frames, double deadline_s,
    std::map<std::string, std::string> const& models = {});

struct DecodedClip {
    std::vector<std::string> cells = {};    // without those of models; none with a fault
    std::vector<RgbFrames> of_models = {};  // as AskedScores::models; no frames: it has no score
    std::optional<ClipFault> fault = {};
};

/// For one thread.
class ClipReader {
public:
    virtual ~ClipReader() = default;
    /// What is wrong with a clip is its fault; an error concerns all clips. `cancel` (may be null):
    /// true ends the clip soon, with a fault.
    [[nodiscard]] virtual Result<DecodedClip> read(std::string const& path,
                                                   std::atomic<bool> const* cancel) = 0;
};

/// Opens a clip and decodes what the scores need: the sampled frames at 256 pixels on the short
/// side; for cuts all frames, at 64; for text at most 4 of the sampled ones, at 720 at most; for
/// models the frames of model_frames.hpp. In this process. `text`: needed if text is asked for.
[[nodiscard]] std::unique_ptr<ClipReader> local_reader(AskedScores asked,
                                                       std::unique_ptr<TextReader> text);

}  // namespace osora::worker
