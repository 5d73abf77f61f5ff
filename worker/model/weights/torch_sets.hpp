// Finds the weights in a pickle of torch.save: checkpoints keep them a few levels deep, beside
// numbers, optimizers and averages. A set of weights is a dict with tensors under names. Pure.
#pragma once

#include "base/result.hpp"
#include "worker/model/weights/pickle.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::worker {

struct TorchSet {
    std::vector<std::pair<std::string_view, PickleId>> tensors;  // name, the call that makes it
    std::vector<std::string> notices;                            // what is dropped, for people
};

/// The set that `wanted` names by its keys ("ema", "model.module"), or the only one. Optimizers,
/// schedulers and sets with less than an eighth of the largest one's tensors are found only by
/// name. invalid_input: no set, or several; the message lists them.
[[nodiscard]] Result<TorchSet> find_torch_set(Pickle const& pickle, std::string_view wanted);

/// Whether the call makes a tensor, plain or not.
[[nodiscard]] bool makes_tensor(PickleValue const& value);

/// A name of the file in a message, cut at 120 bytes; of a global "module.name".
[[nodiscard]] std::string shown_name(std::string_view name);
[[nodiscard]] std::string dotted_name(std::string_view global);

}  // namespace osora::worker
