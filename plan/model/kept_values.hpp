// Values that a network's blocks keep between forward and backward, tensor by tensor as
// worker/model computes them. Pure; tests/unit/worker/memory compares it with the allocator.
#pragma once

#include "plan/activation_choice.hpp"
#include "plan/model/model_description.hpp"

namespace osora::plan {

struct KeptQuery {
    ActivationChoice activations = {};
    int bytes_per_value = 4;  // below 4, some values are also kept in fp32
    int lora_rank = 0;        // > 0: only adapters are trained, so fewer values are needed
    bool one_frame = false;   // of tokens: attention over frames passes its values on
    bool exchanges = false;   // ranks share the tokens of a sample, and exchange them for heads
};

/// Bytes per token.
struct KeptBytes {
    double waiting = 0;  // of all blocks and both ends, from forward until backward
    double working = 0;  // more at the peak of backward: gradients, and what is recomputed
};

/// MMDiT: text tokens are tokens too.
[[nodiscard]] KeptBytes kept_bytes(ModelShape const& shape, KeptQuery const& query);

/// Values of one block, in units of tokens x hidden (the mean over blocks).
[[nodiscard]] double kept_values(ModelShape const& shape, KeptQuery const& query);

}  // namespace osora::plan
