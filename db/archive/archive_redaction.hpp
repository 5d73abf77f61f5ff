// Private to db/: the files of a run as an archive holds them, without the secrets that the run was
// given. Journals and files of versions that wrote them down are mended on the way.
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
    /// Learns the run's secrets from its job.json and environment, the key of their digests from
    /// its state folder.
    explicit ArchiveRedaction(std::filesystem::path const& run_dir);

    /// job.json, submission.json... and run.toml; the same bytes where nothing is secret.
    [[nodiscard]] std::string file(std::string_view name, std::string const& content) const;

    /// The body of one journal record, as JSON.
    [[nodiscard]] std::string json(std::string const& text) const;

private:
    [[nodiscard]] std::string run_file(std::string text) const;

    /// Values of the run file's worker.env, some of which --set may have replaced in job.json.
    void learn_from_run_file(std::string_view text);
    void learn(std::string_view name, std::string_view value);

    std::string key_;
    std::map<std::string, std::string> secrets_;  // of worker.env: value, its digest
    Redactor redactor_;
};

}  // namespace osora::db
