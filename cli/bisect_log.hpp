// What a bisect has measured so far, on disk: STATE/bisects/ID.json, whole after each trial, so
// that the same command goes on after a crash. One process at a time. history.db reads the file as
// a db::Investigation.
#pragma once

#include "base/file_lock.hpp"
#include "base/result.hpp"
#include "db/analysis/bisect/bisect.hpp"
#include "db/investigation.hpp"

#include <boost/describe.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

struct LoggedTrial {
    std::string flipped = {};  // "0110": by atom
    db::analysis::TrialStatus status = db::analysis::TrialStatus::measured;
    double value_s = db::analysis::kNotMeasured, cost_gpu_s = 0;
    std::string run = {};  // "stage1-bisect-0043"
};
BOOST_DESCRIBE_STRUCT(LoggedTrial, (), (flipped, status, value_s, cost_gpu_s, run))

/// What makes two searches the same one.
struct BisectQuestion {
    std::string good, bad;           // uuids of the runs
    std::string rung;                // "rehearsal" or "run"
    int steps = 0;                   // of a trial
    std::vector<std::string> atoms;  // their names, in order
    friend bool operator==(BisectQuestion const&, BisectQuestion const&) = default;
};
BOOST_DESCRIBE_STRUCT(BisectQuestion, (), (good, bad, rung, steps, atoms))

/// "0110" for {false, true, true, false}.
[[nodiscard]] std::string bits_of(std::vector<bool> const& flipped);

class BisectLog {
public:
    /// Finds or makes the log of this question. `anew`: what was measured before is not taken.
    /// busy: another osora bisect asks the same; corrupt: the file is damaged (its name is in the
    /// message).
    [[nodiscard]] static Result<BisectLog> open(std::filesystem::path const& state,
                                                BisectQuestion const& question, bool anew);

    /// Trials of earlier calls and of this one.
    [[nodiscard]] std::vector<LoggedTrial> const& trials() const { return trials_; }
    /// On disk when it returns. Another trial: what ended goes on.
    [[nodiscard]] Result<void> add(LoggedTrial trial);
    [[nodiscard]] Result<void> end(db::InvestigationEnd const& end);
    [[nodiscard]] std::string const& id() const { return id_; }

private:
    BisectLog(FileLock lock, std::filesystem::path path, BisectQuestion question)
        : lock_(std::move(lock)), path_(std::move(path)), question_(std::move(question)) {}

    FileLock lock_;
    std::filesystem::path path_;
    BisectQuestion question_;
    std::string id_;
    std::vector<LoggedTrial> trials_;
};

}  // namespace osora::cli
