// Whether two files are the same weights, by a look at a few pieces: adapters continue on those
// that they were trained on, and their checkpoint has only the path of these.
#pragma once

#include <filesystem>

namespace osora::worker {

enum class SameWeights { yes, no, unknown };

/// As of model.init: also FILE#PART. `no`: as large, with other numbers, as another training of the
/// same network. `unknown`: one is not there, is no single file, has another size (another type,
/// another form), or another part is meant.
[[nodiscard]] SameWeights same_weights(std::filesystem::path const& here,
                                       std::filesystem::path const& there);

}  // namespace osora::worker
