// Files of tensors that other implementations have computed (tests/data).
#pragma once

#include "worker/model/weights/safetensors.hpp"

#include <string>
#include <vector>

namespace osora::worker {

/// tests/data/PATH.safetensors.
inline SafetensorsContent recorded(std::string const& path) {
    return load_safetensors(OSORA_SOURCE_DIR "/tests/data/" + path + ".safetensors").value();
}

/// Its tensors "weights/NAME", as NAME.
inline std::vector<NamedTensor> recorded_weights(SafetensorsContent const& content) {
    std::vector<NamedTensor> weights;
    for (auto const& entry : content.tensors)
        if (entry.name.starts_with("weights/"))
            weights.push_back({entry.name.substr(8), entry.tensor});
    return weights;
}

}  // namespace osora::worker
