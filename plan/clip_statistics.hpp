// Facts about the clips of a manifest that a plan needs: the buckets that they fill, their picture
// sizes, and how much of them is decoded per sample. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/assign.hpp"
#include "plan/buckets/clip_columns.hpp"
#include "plan/config/run_config.hpp"
#include "plan/model/model_description.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace osora::plan {

/// Of one [[bucket]].
struct BucketClips {
    double clips = 0;  // expected in this bucket, per pass over the data; 0: no clip fits
    int height = 0;    // pixels, the most common shape
    int width = 0;
    int height_max = 0;  // pixels, the shape with the most of them
    int width_max = 0;
    double decoded_pixels = 0;  // mean number of source pixels decoded per sample; 0: unknown
};
struct ClipStatistics {
    std::vector<BucketClips> buckets;  // in the order of the run file
    std::int64_t clip_pixels_max = 0;  // coded_pixels() of the largest source picture
};

/// The buckets of a run file as clips are assigned to them.
[[nodiscard]] Result<BucketTable> bucket_table(RunConfig const& config, ModelShape const& shape);

/// For clips with known sizes. A window starts anywhere in its clip, and decoding starts at the
/// keyframe before it: half of what precedes the window, at most half of the 250 frames that
/// encoders put between keyframes (the default of x264 and x265).
[[nodiscard]] Result<ClipStatistics> clip_statistics(RunConfig const& config,
                                                     ModelShape const& shape,
                                                     std::span<ClipShape const> clips);

/// The rows of a manifest (CSV or JSON lines) that give num_frames, height and width, `rows_max` at
/// most, evenly spread over the file, and always one with the largest picture, which sets the
/// memory of decoders. Other rows are skipped: the worker reads these files.
[[nodiscard]] std::vector<ClipShape> clip_shapes(std::string_view manifest, std::size_t rows_max,
                                                 ColumnNames const& columns = {});

}  // namespace osora::plan
