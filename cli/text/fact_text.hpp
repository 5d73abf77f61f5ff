// Facts of the history as people write them. Pure.
#pragma once

#include <string>

namespace osora::cli {

/// "80" for "8E1", as the history keeps numbers; other text, versions too, as it is.
[[nodiscard]] std::string plain_number(std::string const& fact);

}  // namespace osora::cli
