// Which samples of a micro-batch lose their caption, so that the network learns both and guidance
// works. The draws belong to the sample: ranks, batches and resumes do not change them.
#pragma once

#include "worker/train/objective/objective.hpp"

#include <cstdint>
#include <vector>

namespace osora::worker {

/// For each sample one uniform number a part of its caption, from its caption_drop stream: true
/// where it is below `probability`. Rows are parts (text; then the pooled vector).
[[nodiscard]] std::vector<std::vector<bool>> draw_caption_drop(
    std::vector<SampleIdentity> const& samples, std::uint64_t seed, double probability, int parts);

/// (B) bool on the device; undefined when no sample is dropped.
[[nodiscard]] at::Tensor drop_tensor(std::vector<bool> const& drop, at::Device device);

}  // namespace osora::worker
