// Private to plan/: a list of names for a message.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace osora::plan {

/// "n1, n2 and 3 more".
[[nodiscard]] inline std::string few_names(std::vector<std::string> const& names) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
        text += (i == 0 ? "" : ", ") + names[i];
    }
    if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
    return text;
}

}  // namespace osora::plan
