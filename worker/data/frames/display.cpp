// Signs of the matrix to mirrors, and the turning of small pictures.
#include "worker/data/frames/display.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <utility>

namespace osora::worker {
namespace {

/// Ratio of the smaller matrix entries to the larger ones: about one degree.
constexpr double kAngleTolerance = 0.02;

double size_of(std::int32_t a, std::int32_t b) {
    return std::max(std::abs(static_cast<double>(a)), std::abs(static_cast<double>(b)));
}

}  // namespace

Result<Display> display_of(std::span<std::int32_t const> matrix) {
    if (matrix.size() < 9) return Display{};
    std::int32_t const a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
    double const straight = size_of(a, d), across = size_of(b, c);
    if (straight == 0 && across == 0) return Display{};
    if (across <= kAngleTolerance * straight) {
        return Display{.transposed = false, .mirrored_x = a < 0, .mirrored_y = d < 0};
    }
    if (straight <= kAngleTolerance * across) {
        return Display{.transposed = true, .mirrored_x = c < 0, .mirrored_y = b < 0};
    }
    double const degrees = std::atan2(b, a) * 180 / std::numbers::pi;
    return Error{Errc::corrupt,
                 fmt::format("its display matrix turns the picture by {:.1f} degrees, and only "
                             "multiples of 90 can be shown; ffmpeg -i CLIP NEW turns the frames "
                             "themselves",
                             degrees)};
}

FrameSize unturned(FrameSize shown, Display const& display) {
    if (display.transposed) std::swap(shown.height, shown.width);
    return shown;
}

FrameSize displayed_size(FrameSize stored, Display const& display) {
    constexpr double kSideMax = 1 << 20;
    double const width =
        static_cast<double>(stored.width) * display.pixel_width / display.pixel_height;
    FrameSize const stretched{
        .height = stored.height,
        .width = static_cast<int>(std::clamp(std::round(width), 1.0, kSideMax))};
    return unturned(stretched, display);
}

void turn_rgb(std::span<std::uint8_t const> stored, Display const& display, FrameSize shown,
              std::span<std::uint8_t> out) {
    OSORA_CHECK_EQ(out.size(), static_cast<std::size_t>(shown.height) * shown.width * 3);
    OSORA_CHECK_EQ(stored.size(), out.size());
    std::ptrdiff_t const row = std::ptrdiff_t{unturned(shown, display).width} * 3;
    // How far one step to the right, and one step down, moves in the stored picture.
    std::ptrdiff_t right = display.transposed ? row : 3;
    std::ptrdiff_t down = display.transposed ? 3 : row;
    std::ptrdiff_t start = 0;
    if (display.mirrored_x) {
        start += right * (shown.width - 1);
        right = -right;
    }
    if (display.mirrored_y) {
        start += down * (shown.height - 1);
        down = -down;
    }
    std::uint8_t* to = out.data();
    for (int y = 0; y < shown.height; ++y) {
        std::ptrdiff_t from = start + down * y;
        for (int x = 0; x < shown.width; ++x, from += right, to += 3) {
            to[0] = stored[static_cast<std::size_t>(from)];
            to[1] = stored[static_cast<std::size_t>(from + 1)];
            to[2] = stored[static_cast<std::size_t>(from + 2)];
        }
    }
}

}  // namespace osora::worker
