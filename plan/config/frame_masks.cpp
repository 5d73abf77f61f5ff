#include "plan/config/frame_masks.hpp"

#include "base/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace osora::plan {
namespace {

constexpr double kSumTolerance = 1e-6;

}  // namespace

std::vector<std::string> frame_mask_faults(std::map<std::string, double> const& shares) {
    std::vector<std::string> faults;
    double sum = 0;
    for (auto const& [name, share] : shares) {
        sum += share;
        if (std::ranges::find(kFrameMasks, name) != kFrameMasks.end()) continue;
        auto const near = nearest_name(name, kFrameMasks);
        faults.push_back(
            near ? fmt::format("{}: unknown; did you mean {}?", name, *near)
                 : fmt::format("{}: unknown; known: {}", name, fmt::join(kFrameMasks, ", ")));
    }
    if (sum > 1 + kSumTolerance) {
        faults.push_back(fmt::format("the shares sum to {}; at most 1 is valid", sum));
    } else if (shares.contains("identity") && sum < 1 - kSumTolerance) {
        faults.push_back(
            fmt::format("the shares sum to {}, and identity is named; nearest valid: "
                        "identity = {}",
                        sum, shares.at("identity") + 1 - sum));
    }
    return faults;
}

}  // namespace osora::plan
