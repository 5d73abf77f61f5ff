// Checks before the first step that every caption for training is in the cache.
#pragma once

#include "worker/jobs/train_data.hpp"

namespace osora::worker {

/// not_found with the number of missing captions and the first one; shards that cannot be read are
/// errors, too. Does nothing without text.embeddings, or for a folder with both kinds, which were
/// encoded together. Opens each text shard once.
[[nodiscard]] Result<void> check_captions(TrainData const& data);

}  // namespace osora::worker
