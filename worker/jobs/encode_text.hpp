// Captions of an encode run: shard by shard through the text encoder.
#pragma once

#include "worker/jobs/encode_steps.hpp"

namespace osora::worker {

/// Captions of a step.
constexpr std::size_t kCaptionsAtOnce = 16;

/// Makes the shards `open` of plan.captions, in order; ends early when the agent says so.
[[nodiscard]] Result<void> encode_captions(EncodePlan const& plan, CaptionEncoder const& encoder,
                                           std::vector<std::size_t> const& open,
                                           EncodeSteps& steps);

}  // namespace osora::worker
