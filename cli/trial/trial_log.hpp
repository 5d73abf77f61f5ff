// The measurements of a search, on disk: a db::Investigation, complete after each trial, so that
// the same command continues after a crash and history.db includes it. One process at a time.
#pragma once

#include "base/files/file_lock.hpp"
#include "base/result.hpp"
#include "cli/trial/trial_run.hpp"
#include "db/derived/investigation.hpp"
#include "plan/tune/tune_search.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace osora::cli {

enum class LogMode {
    resume,  // uses what earlier calls measured
    anew,    // ignores it
    own,     // each call has a separate log
};

class TrialLog {
public:
    /// Finds or makes FOLDER/ID.json, where ID is derived from kind, series and question of `what`.
    /// busy: another osora has the same question open; corrupt: the file is damaged, or of another
    /// version (its name is in the message).
    [[nodiscard]] static Result<TrialLog> open(std::filesystem::path const& folder,
                                               db::Investigation what, LogMode mode);

    /// Trials of earlier calls and of this one.
    [[nodiscard]] std::vector<db::InvestigatedTrial> const& trials() const { return kept_.trials; }
    /// Written to disk before it returns. After another trial, an investigation that had ended is
    /// open again.
    [[nodiscard]] Result<void> add(db::InvestigatedTrial trial);
    /// Records the result.
    [[nodiscard]] Result<void> end(db::InvestigationEnd end);
    [[nodiscard]] std::string const& id() const { return id_; }
    /// Path beside the log, for the run file of a trial: FOLDER/ID.toml.
    [[nodiscard]] std::filesystem::path run_file() const;

private:
    TrialLog(FileLock lock, std::filesystem::path path, db::Investigation kept)
        : lock_(std::move(lock)), path_(std::move(path)), kept_(std::move(kept)) {}
    [[nodiscard]] Result<void> write() const;

    FileLock lock_;
    std::filesystem::path path_;
    db::Investigation kept_;
    std::string id_;
};

/// `changed`: "key=value" of what differs from the run file, or names of items.
[[nodiscard]] db::InvestigatedTrial investigated(TrialEnd const& end,
                                                 std::vector<std::string> changed);

/// Settings with verdicts, as the history stores them.
[[nodiscard]] std::vector<db::InvestigatedItem> judged_settings(
    std::vector<plan::TuneVerdict> const& verdicts);

}  // namespace osora::cli
