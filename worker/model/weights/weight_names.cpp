#include "worker/model/weights/weight_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace osora::worker {
namespace {

/// torch.nn.parallel and DeepSpeed; torch.compile; Lightning, SAT and ComfyUI; averages; FSDP 1.
constexpr std::array<std::string_view, 12> kWrappers{"module.",
                                                     "_orig_mod.",
                                                     "model.",
                                                     "diffusion_model.",
                                                     "net.",
                                                     "ema_model.",
                                                     "ema.",
                                                     "averaged_model.",
                                                     "dit.",
                                                     "denoiser.",
                                                     "_fsdp_wrapped_module.",
                                                     "transformer."};

}  // namespace

std::string wrapper_prefix(std::vector<std::string_view> const& names) {
    std::string prefix;
    while (!names.empty()) {
        auto const found = std::ranges::find_if(kWrappers, [&](std::string_view wrapper) {
            return std::ranges::all_of(names, [&](std::string_view name) {
                return name.substr(std::min(prefix.size(), name.size())).starts_with(wrapper);
            });
        });
        if (found == kWrappers.end()) break;
        prefix += *found;
    }
    return prefix;
}

std::string first_parts(std::vector<std::string_view> const& names) {
    constexpr std::size_t kShown = 6;
    std::map<std::string_view, int> counts;
    for (std::string_view const name : names) {
        auto const dot = name.find('.');
        ++counts[dot == name.npos ? name : name.substr(0, dot + 1)];
    }
    std::vector<std::pair<int, std::string_view>> sorted;
    for (auto const& [part, count] : counts) sorted.emplace_back(count, part);
    std::ranges::stable_sort(sorted, std::ranges::greater(),
                             &std::pair<int, std::string_view>::first);
    std::vector<std::string> texts;
    for (auto const& [count, part] : sorted) {
        if (texts.size() == kShown) break;
        texts.push_back(fmt::format("{} ({})", part, count));
    }
    if (texts.size() < sorted.size()) texts.emplace_back("...");
    return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace osora::worker
