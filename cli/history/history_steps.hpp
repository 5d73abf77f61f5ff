// Steps of runs in files for other programs: osora history export --format tensorboard|csv.
#pragma once

#include "base/result.hpp"
#include "db/record/run_record.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

struct ExportedSteps {
    std::string name, file;
    std::int64_t number = 0, steps = 0;
};

/// One file with a line for each step. Runs without steps have none.
/// not_found: a run's journal is gone; busy: `file` exists; corrupt names the journal.
[[nodiscard]] Result<std::vector<ExportedSteps>> export_csv(std::vector<db::RunRecord> const& runs,
                                                            std::filesystem::path const& file);

/// FOLDER/NAME/events.out.tfevents.SECONDS.osora for each run that has steps. Errors as above,
/// before a file is made; not when the disk is full.
[[nodiscard]] Result<std::vector<ExportedSteps>> export_event_files(
    std::vector<db::RunRecord> const& runs, std::filesystem::path const& folder);

}  // namespace osora::cli
