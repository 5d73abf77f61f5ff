// Values that a network's blocks keep between forward and backward, tensor by tensor as
// worker/model computes them. Pure; tests/unit/worker/memory compares it with the allocator.
#pragma once

#include "plan/activation_choice.hpp"
#include "plan/model/model_description.hpp"

#include <vector>

namespace osora::plan {

struct KeptQuery {
    ActivationChoice activations = {};
    int bytes_per_value = 4;  // below 4, some values are also kept in fp32
    int lora_rank = 0;        // > 0: only adapters are trained, so fewer values are needed
    bool one_frame = false;   // of tokens: attention over frames passes its values on
    bool exchanges = false;   // ranks share the tokens of a sample, and exchange them for heads
    bool one_sample = false;  // of a micro-batch: parts of its tensors need no copies
    bool fused = false;       // norms, gates and rotations are kernels of osora (docs/rfc/034)
    /// Of a pipeline's stage: its blocks (empty: all of them), and the number of micro-batches that
    /// it keeps, virtual stages counted as parts of one.
    std::vector<BlockSpan> spans = {};
    double micro_batches = 1;
};

/// Bytes per token.
struct KeptBytes {
    double waiting = 0;  // of the blocks and both ends, from forward until backward
    double working = 0;  // more at the peak of backward: gradients, and what is recomputed
    /// More (or, below 0, less) at the end of the last block's forward pass with a store: values
    /// that the block has not released yet.
    double unreleased = 0;
};

/// MMDiT: text tokens are tokens too.
[[nodiscard]] KeptBytes kept_bytes(ModelShape const& shape, KeptQuery const& query);

/// Whether the shapes of a network's blocks fit osora's kernels for GPUs, of which a thread reads
/// 16 bytes at a time (worker/model/fused).
[[nodiscard]] bool kernels_fit(ModelShape const& shape, int bytes_per_value);

/// Values of one block, in units of tokens x hidden (the mean over blocks).
[[nodiscard]] double kept_values(ModelShape const& shape, KeptQuery const& query);

}  // namespace osora::plan
