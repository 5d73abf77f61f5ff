#include "plan/buckets/original_shapes.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace osora::plan {
namespace {

constexpr std::array kOriginalRatios{AspectShape{3, 8},  AspectShape{9, 21}, AspectShape{12, 25},
                                     AspectShape{1, 2},  AspectShape{9, 17}, AspectShape{27, 50},
                                     AspectShape{9, 16}, AspectShape{5, 8},  AspectShape{2, 3},
                                     AspectShape{3, 4},  AspectShape{1, 1},  AspectShape{4, 3},
                                     AspectShape{3, 2},  AspectShape{16, 9}, AspectShape{17, 9},
                                     AspectShape{2, 1},  AspectShape{25, 12}};

/// Shapes that do not follow the rule of their table.
struct Exception {
    std::string_view resolution;
    double ratio;
    AspectShape shape;
};
constexpr std::array kExceptions{
    Exception{"144p", 0.54, {141, 260}},    Exception{"240p", 0.54, {236, 436}},
    Exception{"240p", 0.67, {262, 393}},    Exception{"480p", 0.48, {444, 925}},
    Exception{"480p", 1.33, {740, 555}},    Exception{"720p", 0.54, {706, 1306}},
    Exception{"1080p", 0.54, {1058, 1958}}, Exception{"2k", 0.54, {1412, 2612}},
    Exception{"4k", 0.54, {2118, 3918}},
};

/// The flat half of SDXL's shapes, sides in sixteenths of the square's.
constexpr std::array kFlatShapes{
    AspectShape{8, 32},  AspectShape{8, 31},  AspectShape{8, 30},  AspectShape{8, 29},
    AspectShape{9, 28},  AspectShape{9, 27},  AspectShape{9, 26},  AspectShape{10, 25},
    AspectShape{10, 24}, AspectShape{11, 23}, AspectShape{11, 22}, AspectShape{11, 21},
    AspectShape{12, 21}, AspectShape{12, 20}, AspectShape{13, 19}, AspectShape{13, 18},
    AspectShape{14, 18}, AspectShape{14, 17}, AspectShape{15, 17}, AspectShape{15, 16}};
constexpr AspectShape kNotMirrored{11, 21};

/// Two digits, ties to even, as Python prints them.
double two_digits(double value) {
    return std::stod(fmt::format("{:.2f}", value));
}

/// The even one of the two whole numbers around `side`.
int even_neighbour(double side) {
    int const below = static_cast<int>(std::floor(side + 1e-4));
    return below % 2 == 0 ? below : below + 1;
}

AspectShape named_shape(std::string_view resolution, double area, AspectShape const& ratio) {
    double const quotient = static_cast<double>(ratio.height) / ratio.width;
    double const height = std::sqrt(area * quotient);
    if (resolution == "144p") {  // too small for even sides
        int const whole = static_cast<int>(std::floor(height));
        return {.height = whole, .width = static_cast<int>(std::floor(whole / quotient))};
    }
    int const even = even_neighbour(height);
    return {.height = even, .width = even_neighbour(even / quotient)};
}

std::vector<OriginalShape> named_shapes(std::string_view resolution, std::int64_t area) {
    std::vector<OriginalShape> shapes;
    for (AspectShape const& ratio : kOriginalRatios) {
        double const name = two_digits(static_cast<double>(ratio.height) / ratio.width);
        auto const* exception = std::ranges::find_if(kExceptions, [&](Exception const& e) {
            return e.resolution == resolution && e.ratio == name;
        });
        shapes.push_back({name, exception != kExceptions.end()
                                    ? exception->shape
                                    : named_shape(resolution, static_cast<double>(area), ratio)});
    }
    return shapes;
}

std::vector<OriginalShape> square_shapes(int side) {
    int const unit = side / 16;
    std::vector<OriginalShape> shapes;
    auto const add = [&](int height, int width) {
        shapes.push_back({two_digits(static_cast<double>(height) / width),
                          {.height = height * unit, .width = width * unit}});
    };
    for (AspectShape const& shape : kFlatShapes) add(shape.height, shape.width);
    add(16, 16);
    for (std::size_t i = kFlatShapes.size(); i-- > 0;) {
        if (kFlatShapes[i] != kNotMirrored) add(kFlatShapes[i].width, kFlatShapes[i].height);
    }
    return shapes;
}

}  // namespace

std::vector<OriginalShape> original_shapes(std::string_view resolution) {
    auto const area = resolution_area(resolution);
    if (area.has_error()) return {};
    if (resolution.ends_with('p') || resolution.ends_with('k')) {
        return named_shapes(resolution, *area);
    }
    for (int const side : {256, 512, 1024, 2048}) {
        if (*area == static_cast<std::int64_t>(side) * side) return square_shapes(side);
    }
    return {};
}

std::size_t nearest_ratio(std::span<double const> ratios, int height, int width) {
    OSORA_CHECK(!ratios.empty() && height > 0 && width > 0);
    double const wanted = static_cast<double>(height) / width;
    auto const found = std::ranges::min_element(
        ratios, {}, [&](double ratio) { return std::abs(ratio - wanted); });
    return static_cast<std::size_t>(found - ratios.begin());
}

}  // namespace osora::plan
