// Before the first step: is every caption that training will ask for in the cache?
#pragma once

#include "worker/jobs/train_data.hpp"

namespace osora::worker {

/// not_found with how many are missing and the first of them; shards that do not read are errors,
/// too. Nothing is asked without text.embeddings, or of a folder that has both kinds: they were
/// encoded together. Opens each text shard once.
[[nodiscard]] Result<void> check_captions(TrainData const& data);

}  // namespace osora::worker
