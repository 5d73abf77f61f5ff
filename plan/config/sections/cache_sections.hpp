// [encode], [score], [text] and [eval] of the run file: the content of a cache, scores of clips,
// and evaluation on held-out clips (docs/rfc/022, docs/rfc/029).
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <map>
#include <string>
#include <vector>

namespace osora::plan {

struct EncodeSection {
    std::string out;             // folder of the cache
    std::string dtype = "fp32";  // of latents and embeddings
    bool latents = true;         // false: captions only
    bool std = true;             // deviations beside the means
    int shard_mib = 256;
};
struct ScoreSection {
    std::string output;  // the CSV
    std::vector<std::string> scores{"motion", "blur", "cuts", "brightness"};
    AutoOr<int> frames;       // sampled of each clip
    AutoOr<double> deadline;  // s, of one clip
    std::string aesthetic;    // a TorchScript file; empty: no such score
    std::string flow;         // likewise
};
struct TextSection {
    std::string embeddings;    // a cache; empty: null captions
    std::string encoder;       // T5 in a Hugging Face folder; empty: captions are not encoded
    std::string clip_encoder;  // CLIP's text encoder in such a folder; empty: no pooled vectors
    int max_tokens = 300;
    bool padded = false;       // all max_tokens rows, without a mask
    AutoOr<double> drop_prob;  // drop rate of captions, so that guidance works; auto: as Open-Sora
};
struct EvalSection {
    int every = 500;   // steps
    int samples = 64;  // of the list, the same each time
};
/// The TorchScript files by score, without those that are not given.
[[nodiscard]] inline std::map<std::string, std::string> model_files(ScoreSection const& score) {
    std::map<std::string, std::string> files;
    if (!score.aesthetic.empty()) files["aesthetic"] = score.aesthetic;
    if (!score.flow.empty()) files["flow"] = score.flow;
    return files;
}
BOOST_DESCRIBE_STRUCT(EncodeSection, (), (out, dtype, latents, std, shard_mib))
BOOST_DESCRIBE_STRUCT(ScoreSection, (), (output, scores, frames, deadline, aesthetic, flow))
BOOST_DESCRIBE_STRUCT(TextSection, (),
                      (embeddings, drop_prob, encoder, clip_encoder, max_tokens, padded))
BOOST_DESCRIBE_STRUCT(EvalSection, (), (every, samples))

}  // namespace osora::plan
