// Random streams of initial values.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <string_view>

namespace osora::worker {

/// The CPU random stream of one tensor, from the seed and its name: the draws of a tensor do not
/// depend on the others.
[[nodiscard]] at::Generator generator_for(std::uint64_t seed, std::string_view name);

}  // namespace osora::worker
