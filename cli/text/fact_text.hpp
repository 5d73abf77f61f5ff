// Facts of the history as people write them. Pure.
#pragma once

#include <string>

namespace osora::cli {

/// "80" for "8E1", the history's form of numbers; other text, including versions, unchanged.
[[nodiscard]] std::string plain_number(std::string const& fact);

}  // namespace osora::cli
