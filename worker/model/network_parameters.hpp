// The tensors of a network from its sizes alone, for names and shapes without memory.
#pragma once

#include "base/result.hpp"
#include "plan/model/model_description.hpp"
#include "worker/model/parameters.hpp"

namespace osora::worker {

/// On the meta device. invalid_input for a family without a network in the worker.
[[nodiscard]] Result<Parameters> network_parameters(plan::ModelShape const& shape);

}  // namespace osora::worker
