// The trials of one osora tune or osora bisect --scaling, on disk: STATE/FOLDER/KIND-ID.json, whole
// after each trial, for history. Unlike a bisect these do not go on after a crash, so what cannot
// be written is said once and stops nothing.
#pragma once

#include "cli/trial_run.hpp"
#include "db/investigation.hpp"
#include "plan/tune/tune_search.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

class TrialLog {
public:
    /// `kind`: "tune" or "scaling". Nothing is written before the first trial. An empty `state`: no
    /// file is.
    TrialLog(std::filesystem::path const& state, std::string kind, std::string series);

    /// Fills in what is asked before the first trial.
    [[nodiscard]] db::InvestigationQuestion& question() { return document_.question; }
    /// `changed`: "key=value" of what was not as in the run file. A trial that the user stopped is
    /// none.
    void add(TrialEnd const& end, std::vector<std::string> changed);
    void end(db::InvestigationEnd end);

private:
    void write();

    std::filesystem::path path_;
    db::Investigation document_;
};

/// Settings that were judged, as history has them.
[[nodiscard]] std::vector<db::InvestigatedItem> judged_settings(
    std::vector<plan::TuneVerdict> const& verdicts);

}  // namespace osora::cli
