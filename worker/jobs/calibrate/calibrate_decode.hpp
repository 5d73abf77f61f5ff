// The cost of decoding the clips of a manifest on this machine.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/clip_columns.hpp"

#include <filesystem>

namespace osora::worker {

/// Milliseconds of one thread per million decoded source pixels, including reading and resizing:
/// mean over at most 16 clips spread over the manifest, each decoded twice, of which the faster
/// counts.
[[nodiscard]] Result<double> decode_ms_per_megapixel(std::filesystem::path const& manifest,
                                                     plan::ColumnNames const& columns = {});

}  // namespace osora::worker
