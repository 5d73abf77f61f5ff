// train.frame_masks: strategies by which frames of a sample are given to the model instead of
// noised, with the share of samples for each. Pure; the worker draws them
// (worker/train/objective/frame_mask).
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

/// Open-Sora's names (v1.2, MaskGenerator; "intepolate" is spelled as there), in its order.
inline constexpr std::array<std::string_view, 11> kFrameMasks{
    "identity",          "quarter_random", "quarter_head", "quarter_tail",
    "quarter_head_tail", "image_random",   "image_head",   "image_tail",
    "image_head_tail",   "random",         "intepolate"};

/// Problems of the shares, each in [0, 1]: unknown names, a sum above 1, or not 1 if identity is
/// named. Empty if there are none.
[[nodiscard]] std::vector<std::string> frame_mask_faults(
    std::map<std::string, double> const& shares);

/// Whether a quarter of the frames is drawn, which needs more than 3 frames.
[[nodiscard]] constexpr bool takes_a_quarter(std::string_view strategy) {
    return strategy.starts_with("quarter_");
}

}  // namespace osora::plan
