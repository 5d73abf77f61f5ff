#include "cli/run/run_secrets.hpp"

#include "plan/config/receivers.hpp"
#include "plan/worker_job.hpp"
#include "protocol/json_file.hpp"
#include "protocol/run_directory.hpp"
#include "protocol/secret_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

void restore_from(plan::RunConfig& config, plan::RunConfig const& known, std::string const& key) {
    for (auto& [name, value] : config.worker.env) {
        if (!is_secret_digest(value)) continue;
        auto const found = known.worker.env.find(name);
        if (found == known.worker.env.end()) continue;
        if (shown_value(key, name, found->second) == value) value = found->second;
    }
    auto const& words = config.worker.command;
    bool const differs = words != known.worker.command;
    if (differs && words == shown_config(known, key).worker.command) {
        config.worker.command = known.worker.command;
    }
    auto& notify = config.notify;
    auto const shown = shown_config(known, key).notify;
    if (notify.webhook == shown.webhook) notify.webhook = known.notify.webhook;
    if (notify.command == shown.command) notify.command = known.notify.command;
}

}  // namespace

plan::RunConfig shown_config(plan::RunConfig config, std::string const& key) {
    Redactor redactor;
    for (auto& [name, value] : config.worker.env) {
        if (is_secret(name, value) && !is_secret_digest(value)) redactor.add(value);
        value = shown_value(key, name, value);
    }
    for (auto& word : config.worker.command) word = redactor.redact(word);
    for (auto& word : config.notify.command) word = redactor.redact(word);
    config.notify.webhook = plan::masked_webhook(config.notify.webhook);
    return config;
}

std::map<std::string, std::string> shown_facts(std::map<std::string, std::string> facts,
                                               std::string const& key) {
    for (auto& [name, value] : facts) {
        // Other facts are osora's own text; a URL in them may hold a password.
        bool const is_variable = is_secret_name(name) && name.find('.') == std::string::npos;
        value = is_variable ? shown_value(key, name, value) : Redactor().redact(value);
    }
    return facts;
}

void restore_secrets(plan::RunConfig& config, std::vector<fs::path> const& run_dirs) {
    for (auto const& dir : run_dirs) {
        protocol::RunPaths const paths{dir};
        auto const job = protocol::read_json_file<plan::WorkerJob>(paths.job());
        if (job.has_error()) continue;
        restore_from(config, job->config, protocol::known_secret_key(paths.state().dir));
    }
}

Result<void> check_secrets(plan::RunConfig const& config) {
    std::vector<std::string> lost;
    for (auto const& [name, value] : config.worker.env) {
        if (is_secret_digest(value)) lost.push_back(fmt::format("--set worker.env.{}=...", name));
    }
    bool const sends = !config.notify.on.empty();
    if (sends && plan::is_masked_webhook(config.notify.webhook)) {
        return invalid(
            "notify.webhook: records show it without its secret; give it again, or "
            "--set notify.webhook=\"\"");
    }
    if (lost.empty()) return {};
    return invalid(
        fmt::format("worker.env: only the digest of a secret is known here; give the "
                    "value again: {}",
                    fmt::join(lost, " ")));
}

}  // namespace osora::cli
