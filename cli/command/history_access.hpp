// history.db for the commands: first updated from the journals; if the file cannot be used, the
// journals alone (in memory), so that a full or locked disk does not hide a run.
#pragma once

#include "base/result.hpp"
#include "db/analysis/run_state.hpp"
#include "db/store/store.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace osora::cli {

struct OpenHistory {
    std::unique_ptr<db::Store> store;
    std::vector<std::string> warnings;  // for stderr
};

/// invalid_input: the database of another program, or of a newer osora. Other problems of the file
/// are warnings.
[[nodiscard]] Result<OpenHistory> open_history(std::filesystem::path const& state_dir,
                                               db::StoreOptions const& options = {});

/// The same, with the warnings on stderr.
[[nodiscard]] Result<std::unique_ptr<db::Store>> open_history_or_warn(
    std::filesystem::path const& state_dir);

[[nodiscard]] db::analysis::LivenessFacts liveness_of(db::RunRecord const& run);

}  // namespace osora::cli
