// Names of a run file for the arithmetic of forward and backward.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace osora::worker {

/// optim.precision, "fp32", "bf16" or "fp16", as a type of tensors.
[[nodiscard]] inline c10::ScalarType scalar_type_of(std::string_view precision) {
    if (precision == "bf16") return c10::ScalarType::BFloat16;
    return precision == "fp16" ? c10::ScalarType::Half : c10::ScalarType::Float;
}

}  // namespace osora::worker
