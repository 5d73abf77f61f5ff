#include "worker/data/listed_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace osora::worker {
namespace {

constexpr double kSizeTolerance = 0.02;  // rounding, blocks of a codec

bool is_near(FrameSize listed, FrameSize file) {
    auto const near = [](int one, int other) {
        return std::abs(one - other) <= std::max(1.0, kSizeTolerance * other);
    };
    return near(listed.height, file.height) && near(listed.width, file.width);
}

double pixels_of(FrameSize size) {
    return static_cast<double>(size.height) * size.width;
}

}  // namespace

std::string size_difference(FrameSize listed, PictureSizes const& file) {
    if (is_near(listed, file.shown)) return {};
    return fmt::format("the row says {} x {}{}, players show {} x {}", listed.width, listed.height,
                       is_near(listed, file.stored) ? ", as the file stores it" : "",
                       file.shown.width, file.shown.height);
}

bool fits_as_listed(FrameSize listed, FrameSize shown, FrameSize wanted) {
    double const across = static_cast<double>(listed.width) * shown.height;
    double const along = static_cast<double>(listed.height) * shown.width;
    bool const same_aspect = std::abs(across - along) <= kSizeTolerance * std::max(across, along);
    return same_aspect && pixels_of(shown) >= (1 - kSizeTolerance) * pixels_of(wanted);
}

}  // namespace osora::worker
