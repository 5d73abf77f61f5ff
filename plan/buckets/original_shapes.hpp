// The heights and widths of Open-Sora v1.2's buckets (opensora/datasets/aspect.py), and which of
// them it chooses for a clip. Pure.
#pragma once

#include "plan/buckets/shapes.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace osora::plan {

struct OriginalShape {
    double ratio = 0.0;  // its name there: height / width rounded to two digits
    AspectShape shape;
};

/// In the order of its table. "144p" .. "4k": 17 ratios with even sides; "256", "512", "1024",
/// "2048": the 40 shapes of SDXL (Podell et al. 2023, appendix I) scaled. Empty: no such table.
[[nodiscard]] std::vector<OriginalShape> original_shapes(std::string_view resolution);

/// Index of the ratio nearest to height / width; the first one wins ties.
[[nodiscard]] std::size_t nearest_ratio(std::span<double const> ratios, int height, int width);

}  // namespace osora::plan
