// The tensors of a network by its sizes alone, for whoever needs names and shapes without memory.
#pragma once

#include "base/result.hpp"
#include "plan/model/model_description.hpp"
#include "worker/model/parameters.hpp"

namespace osora::worker {

/// On the meta device. invalid_input for a family that the worker has no network of.
[[nodiscard]] Result<Parameters> network_parameters(plan::ModelShape const& shape);

}  // namespace osora::worker
