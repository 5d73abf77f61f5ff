// Rules of [notify] and [daemon] beyond the range of a single key. Pure, except notify_warnings.
#pragma once

#include "base/result.hpp"
#include "plan/config/run_file.hpp"

#include <filesystem>
#include <string_view>

namespace osora::plan {

/// Appends problems. They never show the URL of a webhook, which may hold secrets.
void check_notify(ResolvedConfig& resolved);

/// Appends a problem when daemon.metrics is no address.
void check_metrics(ResolvedConfig& resolved);

/// Metrics that other machines can read: noted at submit.
[[nodiscard]] std::vector<ConfigProblem> metrics_warnings(ResolvedConfig const& resolved);

/// Appends a problem when occasions are chosen and nobody is notified.
void note_no_receiver(ResolvedConfig& resolved);

/// The program that sends mail: sendmail in a folder of `path`, else in /usr/sbin or /usr/lib;
/// not_found.
[[nodiscard]] Result<std::filesystem::path> find_sendmail(std::string_view path);

/// What this machine lacks for [notify]; the controller's machine may have it. `path`: $PATH.
[[nodiscard]] std::vector<ConfigProblem> notify_warnings(ResolvedConfig const& resolved,
                                                         std::string_view path);

}  // namespace osora::plan
