// Parses the index of a set of weight shards (*.safetensors.index.json) from unverified bytes.
// Pure: no files, no LibTorch.
#pragma once

#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace osora::worker {

/// Tensor name -> file name, from the text of an index. Files are beside the index: names with a
/// folder in them are rejected.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_weight_index(std::string_view json);

}  // namespace osora::worker
