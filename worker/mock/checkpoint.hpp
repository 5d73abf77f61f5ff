// The mock's checkpoints: RUN_DIR/checkpoints/step-NNNNNNNN/state.json with the next step in it.
#pragma once

#include "base/result.hpp"

#include <filesystem>

namespace osora::mock {

/// Writes one (atomically) and removes the oldest until `keep` are left. Returns its folder.
[[nodiscard]] Result<std::filesystem::path> save_checkpoint(std::filesystem::path const& folder,
                                                            int step, int keep);

/// The next step of the newest one that can be read; 0 if there is none.
[[nodiscard]] int find_checkpoint(std::filesystem::path const& folder);

}  // namespace osora::mock
