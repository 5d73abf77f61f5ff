// A sample in a network's own space: pixels, or latents. One clip; determined by the weights and
// the plan, and on one kind of device the seed gives the same numbers every time.
#pragma once

#include "base/result.hpp"
#include "worker/jobs/sample/sample_plan.hpp"
#include "worker/model/parameters.hpp"
#include "worker/parallel/device.hpp"
#include "worker/train/objective/mmdit_objective.hpp"

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <vector>

namespace osora::worker {

/// An embedded caption; undefined tensors: the null caption.
struct SampleCaption {
    at::Tensor text;       // (1, L, caption_channels)
    at::Tensor text_mask;  // (1, L), != 0 is a token; undefined: all are
    at::Tensor pooled;     // (1, pooled_channels), MMDiT only
    NullCaption null;      // MMDiT: the embedding of ""; undefined: zeros
};

/// Rows of zeros behind its tokens, up to `tokens`: as MMDiT trains on captions without padding.
void fill_caption(SampleCaption& caption, std::int64_t tokens);

/// Reads tensors text (L, C), and optionally text_mask (L) and pooled (V), each with or without a
/// leading 1. Errors name the file, the tensor and the expected shape.
[[nodiscard]] Result<SampleCaption> load_caption(std::filesystem::path const& path,
                                                 plan::ModelShape const& shape);

/// (1, C, T, H, W) in fp32 on the CPU. Mismatched weights are named before memory is taken; a
/// sample that is not finite is corrupt.
[[nodiscard]] Result<at::Tensor> sample_latent(SamplePlan const& plan,
                                               std::vector<NamedTensor> const& weights,
                                               SampleCaption const& caption, Device const& device);

}  // namespace osora::worker
