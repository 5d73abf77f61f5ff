// Private to worker: compares a listed size with that of the file. Lists from ffprobe and PyAV have
// the stored size, which differs if a clip is rotated or its pixels are not square. Pure.
#pragma once

#include "worker/data/frames/decoder.hpp"

#include <string>
#include <string_view>

namespace osora::worker {

/// Advice for a list with such rows.
inline constexpr std::string_view kSizesAdvice =
    "correct the list, or leave its sizes out with [data] columns = { height = \"\", width = \"\" "
    "}";

/// "the row says 1920 x 1080, as the file stores it, players show 1080 x 1920"; "" if they are
/// equal up to rounding (2 % of a side).
[[nodiscard]] std::string size_difference(FrameSize listed, PictureSizes const& file);

/// Whether a clip of another size than listed fits its bucket anyway: the same aspect ratio (within
/// 2 %), and no fewer pixels than the bucket's `wanted`.
[[nodiscard]] bool fits_as_listed(FrameSize listed, FrameSize shown, FrameSize wanted);

}  // namespace osora::worker
