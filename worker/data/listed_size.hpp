// Private to worker: a listed size against what the file shows. Lists of ffprobe and PyAV have the
// size as it is stored, which is another one where a clip is turned or its pixels are not square.
// Pure.
#pragma once

#include "worker/data/frames/decoder.hpp"

#include <string>
#include <string_view>

namespace osora::worker {

/// What to do about a list with such rows.
inline constexpr std::string_view kSizesAdvice =
    "correct the list, or leave its sizes out with [data] columns = { height = \"\", width = \"\" "
    "}";

/// "the row says 1920 x 1080, as the file stores it, players show 1080 x 1920"; "" where they are
/// the same but for a rounding (2 % of a side).
[[nodiscard]] std::string size_difference(FrameSize listed, PictureSizes const& file);

/// Whether a clip of another size than listed fits where the list has put it: the same aspect ratio
/// (within 2 %), and no fewer pixels than `wanted`, its bucket's.
[[nodiscard]] bool fits_as_listed(FrameSize listed, FrameSize shown, FrameSize wanted);

}  // namespace osora::worker
