#include "db/record/run_record.hpp"

#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace osora::db {

std::string PlannedBucket::label() const {
    return fmt::format("{}x{}x{}", height, width, num_frames);
}

bool is_imported(RunRecord const& run) {
    auto const folder = std::filesystem::path(run.run_dir).filename().string();
    return folder.ends_with("." + run.uuid.substr(0, 8)) &&
           !protocol::run_of_imported_folder(folder).empty();
}

std::optional<std::int64_t> began_us(RunRecord const& run) {
    return run.started_us ? run.started_us : run.submitted_us;
}

}  // namespace osora::db
