// The request of `osora sample`: the words after `osora-worker --sample`, parsed and checked
// against ranges. Pure.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace osora::worker {

inline constexpr int kSampleFramesMax = 65536;
inline constexpr int kSampleSideMax = 16384;  // pixels, as H.264 requires

struct SampleRequest {
    std::filesystem::path checkpoint;  // a checkpoint's folder, or that of a run or of checkpoints
    int num_frames = 0;                // 0: as trained, as are width and height in pixels
    int width = 0, height = 0;
    int steps = 0;                    // Euler steps; 0: the family's
    std::optional<double> cfg_scale;  // none: the family's
    std::uint64_t seed = 42;
    double fps = 0;                    // 0: of the training clips
    std::filesystem::path embeddings;  // safetensors: text, text_mask, pooled; empty: null caption
    bool ema = true;                   // the moving average of the weights
    std::string precision = {};        // of the network: "fp32", "bf16", "fp16"; empty: on a GPU
                                       // as trained, on a CPU fp32
    std::filesystem::path out;         // "*.mp4", or a folder; empty: samples/ of the run
    std::filesystem::path weights;     // that adapters belong to; empty: of the run
    std::string vae_arch;              // empty: of the run
    std::filesystem::path vae_weights;
};

/// invalid_input names an unknown word or one out of range, and what is valid.
[[nodiscard]] Result<SampleRequest> parse_sample_request(std::span<std::string const> words);

}  // namespace osora::worker
