#include "plan/config/notify_checks.hpp"

#include "base/http/web_request.hpp"
#include "base/process/capture.hpp"
#include "plan/config/receivers.hpp"

#include <fmt/format.h>

namespace osora::plan {

void check_notify(ResolvedConfig& resolved) {
    auto const& notify = resolved.config.notify;
    auto const& unread = resolved.unread;
    if (!notify.webhook.empty() && !unread.contains("notify.webhook")) {
        auto const webhook = parse_webhook(notify.webhook);
        if (webhook.has_error()) {
            auto problem = problem_of(resolved, "notify.webhook", "");
            problem.message = "notify.webhook: " + webhook.error().message;
            resolved.problems.push_back(std::move(problem));
        }
    }
    if (!notify.mail.empty() && !unread.contains("notify.mail")) {
        auto const checked = check_mail_address(notify.mail);
        if (checked.has_error()) complain(resolved, "notify.mail", checked.error().message);
    }
    if (!notify.command.empty() && notify.command.front().empty()) {
        complain(resolved, "notify.command", "its first word, the program, is empty");
    }
}

void check_metrics(ResolvedConfig& resolved) {
    auto const& metrics = resolved.config.daemon.metrics;
    if (metrics.empty() || resolved.unread.contains("daemon.metrics")) return;
    auto const listen = parse_listen(metrics);
    if (listen.has_value()) return;
    complain(resolved, "daemon.metrics",
             listen.error().message +
                 "; write it as 127.0.0.1:9464, [::1]:9464 or, for every "
                 "machine that reaches this one, 0.0.0.0:9464");
}

std::vector<ConfigProblem> metrics_warnings(ResolvedConfig const& resolved) {
    std::vector<ConfigProblem> warnings;
    auto const listen = parse_listen(resolved.config.daemon.metrics);
    if (listen.has_error() || listen->is_loopback()) return warnings;
    warnings.push_back(problem_of(
        resolved, "daemon.metrics",
        "everyone who reaches this port can read the run's metrics: there is no password and no "
        "encryption"));
    return warnings;
}

void note_no_receiver(ResolvedConfig& resolved) {
    auto const& notify = resolved.config.notify;
    if (!resolved.origins.contains("notify.on") || notify.on.empty()) return;
    if (!notify.command.empty() || !notify.webhook.empty() || !notify.mail.empty()) return;
    complain(resolved, "notify.on",
             "nobody is notified: set notify.command, notify.webhook or notify.mail");
}

Result<std::filesystem::path> find_sendmail(std::string_view path) {
    return find_in_path("sendmail", fmt::format("{}:/usr/sbin:/usr/lib", path));
}

std::vector<ConfigProblem> notify_warnings(ResolvedConfig const& resolved, std::string_view path) {
    std::vector<ConfigProblem> warnings;
    auto const& notify = resolved.config.notify;
    auto const warn = [&](std::string const& key, std::string const& message) {
        warnings.push_back(problem_of(resolved, key, message));
    };
    if (!notify.mail.empty() && find_sendmail(path).has_error()) {
        warn("notify.mail",
             "this machine has no sendmail in PATH or /usr/sbin; the controller's needs one");
    }
    if (notify.command.empty() || notify.command.front().find('/') != std::string::npos) {
        return warnings;
    }
    if (find_in_path(notify.command.front(), path).has_error()) {
        warn("notify.command",
             fmt::format("this machine has no {} in PATH; the controller's needs one",
                         notify.command.front()));
    }
    return warnings;
}

}  // namespace osora::plan
