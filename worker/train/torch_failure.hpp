// Errors that LibTorch or a GPU reported during a step, and that are neither a lack of memory nor a
// lost peer. No file is at fault, so they are no "data". Header-only, without LibTorch.
#pragma once

#include "base/result.hpp"

#include <string_view>

namespace osora::worker {

/// Their message contains it, with what the caller says before (at_step_boundary).
inline constexpr std::string_view kTorchFailure = "LibTorch: ";

[[nodiscard]] inline bool is_torch_failure(Error const& error) {
    return error.code == Errc::io && error.message.find(kTorchFailure) != std::string::npos;
}

}  // namespace osora::worker
