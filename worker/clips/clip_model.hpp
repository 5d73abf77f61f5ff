// Scores by TorchScript files: the interface of libosora_score_models.so (worker/score_models),
// which links LibTorch and is loaded when such a score is asked for, so that nothing else loads it.
#pragma once

#include "base/result.hpp"
#include "worker/data/frames/rgb_frames.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace osora::worker {

/// What forward() gets: all frames as one tensor, or each frame and the one after it as two.
enum class ModelInput { frames, pairs };

struct ModelFile {
    std::filesystem::path file;
    ModelInput input = ModelInput::frames;
    int frames = 1, height = 0, width = 0;  // of every call
    int local_rank = 0;                     // the GPU, if there is one; more ranks share GPUs
    std::filesystem::path cuda_module;      // libosora_cuda.so
};

/// For any number of threads.
class ClipModel {
public:
    virtual ~ClipModel() = default;
    /// Mean over the frames or pairs; depends on these frames only. `clip` has the size of the
    /// ModelFile. invalid_input: forward() failed, or its result is not a finite number.
    [[nodiscard]] virtual Result<double> score(RgbFrames const& clip) const = 0;
    [[nodiscard]] virtual std::string device() const = 0;  // "cpu", "cuda:3"
};

/// Relative to the program: bin/osora-clips and lib/NAME.
[[nodiscard]] std::filesystem::path beside_program(std::string_view name);

/// Loads `module` once for the process, then the file, and tries it on grey frames. invalid_input:
/// the file is missing, is no TorchScript file or cut off, its forward() takes or returns something
/// else (docs/guide/data.md), or the module is missing or belongs to another version.
[[nodiscard]] Result<std::unique_ptr<ClipModel>> open_clip_model(
    std::filesystem::path const& module, ModelFile const& file);

/// First 16 digits of the SHA-256 of a file. Errors: not_found, io,
/// invalid_input (not a regular file).
[[nodiscard]] Result<std::string> model_hash(std::filesystem::path const& file);

/// What the module exports as osora_score_models(). A change of this struct, of ModelFile or of
/// ClipModel needs another version.
constexpr int kScoreModelsVersion = 1;
struct ScoreModels {
    int version = kScoreModelsVersion;
    Result<std::unique_ptr<ClipModel>> (*open)(ModelFile const& file) = nullptr;
};

}  // namespace osora::worker
