// A name for weights, so that what was made with others is not taken for one's own.
#pragma once

#include "worker/model/parameters.hpp"

#include <string>
#include <string_view>

namespace osora::worker {

/// 64 hex digits of names, shapes and the first 64 KiB of each tensor, and of `settings`: weights
/// that were trained on differ there, and it takes no second for any model.
[[nodiscard]] std::string fingerprint_of(Parameters const& parameters, std::string_view settings);

}  // namespace osora::worker
