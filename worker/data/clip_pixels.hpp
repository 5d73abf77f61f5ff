// Private to worker: how large the pictures of a schedule's clips are to decoders. Pure.
#pragma once

#include "plan/buckets/schedule.hpp"
#include "worker/data/manifest.hpp"

#include <cstdint>

namespace osora::worker {

/// Pixels of the largest picture in a decoder's memory.
[[nodiscard]] std::int64_t coded_pixels_max(plan::Schedule const& schedule,
                                            Manifest const& manifest);

/// DecodeLimits::pixels_max under which every clip of the schedule decodes.
[[nodiscard]] std::int64_t decode_pixels_max(plan::Schedule const& schedule,
                                             Manifest const& manifest);

}  // namespace osora::worker
