// Private to db/: prepares the files of a run for an archive, without the secrets that the run was
// given. Journals and files of versions that stored secrets are cleaned too.
#pragma once

#include "base/result.hpp"
#include "base/secrets.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace osora::db {

class ArchiveRedaction {
public:
    /// Reads the run's secrets from its job.json and environment, and the key of their digests from
    /// its state folder.
    explicit ArchiveRedaction(std::filesystem::path const& run_dir);

    /// For job.json, submission.json... and run.toml; unchanged bytes if nothing is secret.
    [[nodiscard]] std::string file(std::string_view name, std::string const& content) const;

    /// The body of one journal record, as JSON.
    [[nodiscard]] std::string json(std::string const& text) const;

private:
    [[nodiscard]] std::string run_file(std::string text) const;

    /// Values of the run file's worker.env; --set may have replaced some of them in job.json.
    void learn_from_run_file(std::string_view text);
    void learn(std::string_view name, std::string_view value);

    std::string key_;
    std::map<std::string, std::string> secrets_;  // of worker.env: value, its digest
    Redactor redactor_;
};

}  // namespace osora::db
