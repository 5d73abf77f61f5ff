// The result of reading a file of weights.
#pragma once

#include "worker/model/parameters.hpp"

#include <string>
#include <vector>

namespace osora::worker {

using Notices = std::vector<std::string>;  // what was dropped or changed, for people

struct LoadedWeights {
    std::vector<NamedTensor> tensors;
    Notices notices;
};

}  // namespace osora::worker
