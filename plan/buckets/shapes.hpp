// Sizes of buckets: named resolutions, and the heights and widths for one area, one per aspect
// ratio. Pure.
#pragma once

#include "base/result.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

/// The size of every sample of a bucket.
struct BucketKey {
    int height = 0;  // pixels
    int width = 0;   // pixels
    int num_frames = 0;
    friend auto operator<=>(BucketKey const&, BucketKey const&) = default;
};

/// One [[bucket]] of a run file.
struct BucketEntry {
    std::string resolution;        // "360p", "512": see resolution_area()
    int num_frames = 1;            // 1: images
    double keep_prob = 1.0;        // share of the clips reaching this entry that stay
    double frame_keep_prob = 1.0;  // drawn first; clips that fail try fewer frames of the same area
};

/// Pixels of "144p" .. "1080p", "2k", "4k" (the table of github.com/hpcaitech/Open-Sora,
/// opensora/datasets/aspect.py), or N * N for a plain number N in [8, 8192].
[[nodiscard]] Result<std::int64_t> resolution_area(std::string_view name);

struct AspectShape {
    int height = 0;
    int width = 0;
    friend bool operator==(AspectShape const&, AspectShape const&) = default;
};

/// Shapes of about `area` pixels in aspect ratios (height / width) 1/4 .. 4, both sides rounded to
/// multiples of `multiple`; flattest first, no duplicates.
[[nodiscard]] std::vector<AspectShape> aspect_shapes(std::int64_t area, int multiple);

/// Index of the shape whose ratio is nearest to height / width (as a quotient); the first one wins
/// ties.
[[nodiscard]] std::size_t nearest_shape(std::span<AspectShape const> shapes, int height, int width);

/// The square shape of an entry, used for all of its shapes if a cost is needed before the clips
/// are known.
[[nodiscard]] Result<BucketKey> nominal_key(BucketEntry const& entry, int multiple);

}  // namespace osora::plan
