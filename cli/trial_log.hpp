// What a search has measured so far, on disk: a file that is whole after each trial, so that the
// same command goes on after a crash. One process at a time.
#pragma once

#include "base/file_lock.hpp"
#include "base/result.hpp"
#include "protocol/json.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace osora::cli {

class TrialLog {
public:
    /// Finds or makes the log of this question: FOLDER/ID.json. `anew`: what was measured before is
    /// not taken. busy: another osora asks the same; corrupt: the file is damaged, or of another
    /// version (its name is in the message).
    [[nodiscard]] static Result<TrialLog> open(std::filesystem::path const& folder,
                                               protocol::json::value question, bool anew);

    /// Trials of earlier calls and of this one.
    [[nodiscard]] std::vector<protocol::json::value> const& trials() const { return trials_; }
    /// On disk when it returns.
    [[nodiscard]] Result<void> add(protocol::json::value trial);
    [[nodiscard]] std::string const& id() const { return id_; }
    /// Beside the log, for what belongs to it: FOLDER/ID.toml.
    [[nodiscard]] std::filesystem::path run_file() const;

private:
    TrialLog(FileLock lock, std::filesystem::path path, protocol::json::value question)
        : lock_(std::move(lock)), path_(std::move(path)), question_(std::move(question)) {}

    FileLock lock_;
    std::filesystem::path path_;
    protocol::json::value question_;
    std::string id_;
    std::vector<protocol::json::value> trials_;
};

}  // namespace osora::cli
