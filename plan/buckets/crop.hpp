// The part of a picture that training uses. Pure.
#pragma once

#include "plan/buckets/shapes.hpp"

namespace osora::plan {

/// Pixels of the source picture.
struct CropBox {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
    friend bool operator==(CropBox const&, CropBox const&) = default;
};

/// The centred part of a picture that has the aspect ratio of `size`.
[[nodiscard]] CropBox centre_crop(int width, int height, AspectShape size);

}  // namespace osora::plan
