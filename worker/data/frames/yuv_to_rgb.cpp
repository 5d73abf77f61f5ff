// Integer arithmetic with 16 fractional bits; two pixels share the terms of their chroma sample.
#include "worker/data/frames/yuv_to_rgb.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace osora::worker {
namespace {

constexpr int kBits = 16;

struct Factors {
    int y, y_offset;
    int red_v, green_u, green_v, blue_u;
};

Factors factors_of(YuvMatrix const& matrix) {
    auto const fixed = [](double value) {
        return static_cast<int>(std::lround(value * (1 << kBits)));
    };
    double const luma = matrix.full_range ? 1.0 : 255.0 / 219.0;
    double const chroma = matrix.full_range ? 1.0 : 255.0 / 224.0;
    double const red = 2 * (1 - matrix.kr) * chroma;
    double const blue = 2 * (1 - matrix.kb) * chroma;
    double const kg = 1 - matrix.kr - matrix.kb;
    return {.y = fixed(luma),
            .y_offset = matrix.full_range ? 0 : 16,
            .red_v = fixed(red),
            .green_u = fixed(-matrix.kb / kg * blue),
            .green_v = fixed(-matrix.kr / kg * red),
            .blue_u = fixed(blue)};
}

std::uint8_t level(int value) {
    return static_cast<std::uint8_t>(std::clamp(value >> kBits, 0, 255));
}

}  // namespace

void yuv420_to_rgb(YuvPlanes const& planes, YuvMatrix const& matrix, std::span<std::uint8_t> out) {
    OSORA_CHECK_EQ(out.size(), static_cast<std::size_t>(planes.height) * planes.width * 3);
    Factors const f = factors_of(matrix);
    constexpr int kHalf = 1 << (kBits - 1);
    std::uint8_t* rgb = out.data();
    for (int row = 0; row < planes.height; ++row) {
        std::uint8_t const* y = planes.y + static_cast<std::ptrdiff_t>(row) * planes.y_stride;
        std::uint8_t const* u = planes.u + static_cast<std::ptrdiff_t>(row / 2) * planes.u_stride;
        std::uint8_t const* v = planes.v + static_cast<std::ptrdiff_t>(row / 2) * planes.v_stride;
        for (int x = 0; x < planes.width; x += 2) {
            int const cb = u[x / 2] - 128;
            int const cr = v[x / 2] - 128;
            int const red = f.red_v * cr + kHalf;
            int const green = f.green_u * cb + f.green_v * cr + kHalf;
            int const blue = f.blue_u * cb + kHalf;
            int const pixels = std::min(2, planes.width - x);
            for (int i = 0; i < pixels; ++i, rgb += 3) {
                int const luma = f.y * (y[x + i] - f.y_offset);
                rgb[0] = level(luma + red);
                rgb[1] = level(luma + green);
                rgb[2] = level(luma + blue);
            }
        }
    }
}

}  // namespace osora::worker
