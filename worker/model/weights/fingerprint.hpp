// An identifier for weights, so that results made with other weights are not mistaken for these.
#pragma once

#include "worker/model/parameters.hpp"

#include <string>
#include <string_view>

namespace osora::worker {

/// 64 hex digits from names, shapes and the first 64 KiB of each tensor, and `settings`: trained
/// weights differ there, and it takes less than a second for any model.
[[nodiscard]] std::string fingerprint_of(Parameters const& parameters, std::string_view settings);

}  // namespace osora::worker
