// Which tensors of a network are trained: all, all except a list (optim.freeze), or low-rank
// adapters beside frozen weights (optim.lora_rank). Applied once, after the initial weights are
// loaded.
#pragma once

#include "base/result.hpp"
#include "plan/config/sections/optim_section.hpp"
#include "worker/model/parameters.hpp"

#include <cstdint>

namespace osora::worker {

/// Applies freeze, lora_rank, lora_alpha and lora_targets. New adapters change nothing at first: as
/// in peft, a is U(-1 / sqrt(in), 1 / sqrt(in)) from `seed` and its name, b is 0. invalid_input:
/// a prefix or target that matches nothing, with the nearest name; nothing left to train.
[[nodiscard]] Result<void> choose_trainable(Parameters& parameters, plan::OptimSection const& optim,
                                            std::uint64_t seed);

}  // namespace osora::worker
