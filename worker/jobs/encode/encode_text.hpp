// Captions of an encode run: encoded shard by shard.
#pragma once

#include "worker/jobs/encode/encode_steps.hpp"

namespace osora::worker {

/// Captions of a step.
constexpr std::size_t kCaptionsAtOnce = 16;

/// Makes the shards `open` of plan.captions, in order; ends early when the agent asks. `encoders`
/// must have text.
[[nodiscard]] Result<void> encode_captions(EncodePlan const& plan, Encoders const& encoders,
                                           std::vector<std::size_t> const& open,
                                           EncodeSteps& steps);

}  // namespace osora::worker
