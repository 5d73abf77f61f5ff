// Whether two files are the same weights, by a look at a few pieces: adapters continue on those
// that they were trained on, and their checkpoint has only the path of these.
#pragma once

#include <filesystem>

namespace osora::worker {

enum class SameWeights { yes, no, unknown };

/// `no`: as large, with other numbers, as another training of the same network. `unknown`: one is
/// not there, is no single file, or has another size (another type, another form).
[[nodiscard]] SameWeights same_weights(std::filesystem::path const& one,
                                       std::filesystem::path const& other);

}  // namespace osora::worker
