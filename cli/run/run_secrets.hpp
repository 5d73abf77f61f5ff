// Secrets of a run's settings: job.json and the run file hold them, for the workers; everything
// that is stored, compared or shown holds their digests (base/secrets.hpp).
#pragma once

#include "base/environment.hpp"
#include "base/secrets.hpp"
#include "plan/config/run_config.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::cli {

/// `config` as it is stored: secrets of worker.env as digests with `key`, words of worker.command
/// and notify.command without them, notify.webhook without path, query and user. Pure.
[[nodiscard]] plan::RunConfig shown_config(plan::RunConfig config, std::string const& key);

/// The same for facts about the submitter's environment. Pure.
[[nodiscard]] std::map<std::string, std::string> shown_facts(
    std::map<std::string, std::string> facts, std::string const& key);

/// Replaces digests in `config` by the secrets in the job.json of these run directories. A secret
/// that none of them has remains a digest.
void restore_secrets(plan::RunConfig& config, std::vector<std::filesystem::path> const& run_dirs);

/// invalid_input names the variables of worker.env that are only digests, and how to set them
/// again.
[[nodiscard]] Result<void> check_secrets(plan::RunConfig const& config);

}  // namespace osora::cli
