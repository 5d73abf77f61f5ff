#include "plan/buckets/crop.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace osora::plan {

CropBox centre_crop(int width, int height, AspectShape size) {
    OSORA_CHECK(width > 0 && height > 0 && size.width > 0 && size.height > 0);
    std::int64_t const by_height = std::int64_t{width} * size.height;
    std::int64_t const by_width = std::int64_t{height} * size.width;
    CropBox box{.x = 0, .y = 0, .width = width, .height = height};
    if (by_height > by_width) {  // too wide
        auto const wanted = std::llround(static_cast<double>(by_width) / size.height);
        box.width = std::clamp(static_cast<int>(wanted), 1, width);
        box.x = (width - box.width) / 2;
    } else {
        auto const wanted = std::llround(static_cast<double>(by_height) / size.width);
        box.height = std::clamp(static_cast<int>(wanted), 1, height);
        box.y = (height - box.height) / 2;
    }
    return box;
}

}  // namespace osora::plan
