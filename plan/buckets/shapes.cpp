// Named resolutions and aspect-ratio shapes.
#include "plan/buckets/shapes.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace osora::plan {
namespace {

struct NamedArea {
    std::string_view name;
    std::int64_t area;
};

constexpr std::array kNamedAreas{
    NamedArea{"144p", 36'864},  NamedArea{"240p", 102'240}, NamedArea{"360p", 230'400},
    NamedArea{"480p", 409'920}, NamedArea{"720p", 921'600}, NamedArea{"1080p", 2'073'600},
    NamedArea{"2k", 3'686'400}, NamedArea{"4k", 8'294'400},
};

constexpr int kSideMin = 8;
constexpr int kSideMax = 8192;

struct Ratio {
    int height;
    int width;
};
constexpr std::array kRatios{
    Ratio{1, 4}, Ratio{1, 3},  Ratio{3, 8}, Ratio{3, 7}, Ratio{1, 2}, Ratio{9, 16}, Ratio{5, 8},
    Ratio{2, 3}, Ratio{3, 4},  Ratio{7, 8}, Ratio{1, 1}, Ratio{8, 7}, Ratio{4, 3},  Ratio{3, 2},
    Ratio{8, 5}, Ratio{16, 9}, Ratio{2, 1}, Ratio{7, 3}, Ratio{8, 3}, Ratio{3, 1},  Ratio{4, 1},
};

int rounded(double side, int multiple) {
    auto const steps = std::llround(side / multiple);
    return static_cast<int>(std::max<long long>(steps, 1)) * multiple;
}

}  // namespace

Result<std::int64_t> resolution_area(std::string_view name) {
    auto const* named = std::ranges::find(kNamedAreas, name, &NamedArea::name);
    if (named != kNamedAreas.end()) return named->area;
    std::int64_t side = 0;
    auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), side);
    bool const number = error == std::errc{} && end == name.data() + name.size();
    if (number && side >= kSideMin && side <= kSideMax) return side * side;
    if (number) {
        return Error{
            Errc::invalid_input,
            fmt::format("resolution {}: outside [{}, {}]; nearest valid: {}", name, kSideMin,
                        kSideMax, std::clamp<std::int64_t>(side, kSideMin, kSideMax))};
    }
    std::string known;
    for (NamedArea const& area : kNamedAreas) known += fmt::format("{}, ", area.name);
    return Error{Errc::invalid_input,
                 fmt::format("resolution \"{}\": unknown; known are {}and a number N for N x N "
                             "pixels",
                             name, known)};
}

std::vector<AspectShape> aspect_shapes(std::int64_t area, int multiple) {
    OSORA_CHECK_LE(1, area);
    OSORA_CHECK_LE(1, multiple);
    std::vector<AspectShape> shapes;
    for (Ratio const& ratio : kRatios) {
        double const quotient = static_cast<double>(ratio.height) / ratio.width;
        AspectShape const shape{
            .height = rounded(std::sqrt(static_cast<double>(area) * quotient), multiple),
            .width = rounded(std::sqrt(static_cast<double>(area) / quotient), multiple)};
        if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
    }
    return shapes;
}

std::size_t nearest_shape(std::span<AspectShape const> shapes, int height, int width) {
    OSORA_CHECK(!shapes.empty() && height > 0 && width > 0);
    double const wanted = std::log(static_cast<double>(height) / width);
    auto distance = [wanted](AspectShape const& shape) {
        return std::abs(std::log(static_cast<double>(shape.height) / shape.width) - wanted);
    };
    auto const found = std::ranges::min_element(shapes, {}, distance);
    return static_cast<std::size_t>(found - shapes.begin());
}

Result<BucketKey> nominal_key(BucketEntry const& entry, int multiple) {
    OSORA_TRY(std::int64_t const area, resolution_area(entry.resolution));
    int const side = rounded(std::sqrt(static_cast<double>(area)), multiple);
    return BucketKey{.height = side, .width = side, .num_frames = entry.num_frames};
}

}  // namespace osora::plan
