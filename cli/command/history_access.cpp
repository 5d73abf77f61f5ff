#include "cli/command/history_access.hpp"

#include "base/files/file_lock.hpp"
#include "cli/command/print.hpp"
#include "cli/command/state_folder.hpp"
#include "db/ingest/ingest.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace osora::cli {
namespace {

Result<OpenHistory> from_journals(std::filesystem::path const& state_dir, OpenHistory history) {
    OSORA_TRY(history.store, db::Store::in_memory());
    OSORA_TRY(auto const read, db::ingest_all(*history.store, state_dir));
    for (auto const& problem : read.problems) history.warnings.push_back(problem);
    return history;
}

}  // namespace

Result<OpenHistory> open_history(std::filesystem::path const& state_dir,
                                 db::StoreOptions const& options) {
    OpenHistory history;
    std::error_code missing;
    if (!std::filesystem::is_directory(state_dir, missing)) {
        return from_journals(state_dir, std::move(history));
    }
    if (!is_own_state(state_dir, history.warnings)) {
        history.warnings.back() += "; read from the journals instead";
        return from_journals(state_dir, std::move(history));
    }
    auto opened = db::Store::open(db::history_file(state_dir), options);
    if (opened.has_error()) {
        if (opened.error().code == Errc::invalid_input) return std::move(opened).error();
        history.warnings.push_back(opened.error().message + "; read from the journals instead");
        return from_journals(state_dir, std::move(history));
    }
    history.store = std::move(*opened);
    auto const read = db::ingest_all(*history.store, state_dir);
    if (read.has_value()) {
        history.warnings = read->problems;
    } else if (read.error().code == Errc::busy) {
        history.warnings.push_back(read.error().message + "; the newest steps may be missing");
    } else {
        history.warnings.push_back(read.error().message + "; read from the journals instead");
        return from_journals(state_dir, std::move(history));
    }
    return history;
}

Result<std::unique_ptr<db::Store>> open_history_or_warn(std::filesystem::path const& state_dir) {
    OSORA_TRY(auto history, open_history(state_dir));
    for (auto const& warning : history.warnings) cli::print(stderr, "osora: {}\n", warning);
    return std::move(history.store);
}

db::analysis::LivenessFacts liveness_of(db::RunRecord const& run) {
    protocol::RunPaths const paths{run.run_dir};
    std::error_code missing;
    return {.controller_alive = FileLock::is_held(paths.lock()),
            .folder_exists = std::filesystem::is_directory(paths.dir, missing)};
}

}  // namespace osora::cli
