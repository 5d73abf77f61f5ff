// The limits are far below the dashboard's: a scraper needs one connection, and the loop is that of
// the run.
#include "daemon/metrics/metrics_server.hpp"

#include "base/http/http_server_internal.hpp"
#include "daemon/metrics/metrics_page.hpp"
#include "protocol/notice_kinds.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace osora::daemon {
namespace {

using std::chrono::milliseconds;

constexpr WebLimits kLimits{.connections = 8,
                            .refusals = 4,
                            .request = milliseconds(5000),
                            .response = milliseconds(10'000)};

std::string url_of(ListenAddress listen, std::string const& host, int port) {
    listen.port = port;
    auto const place = listen.is_everywhere() ? fmt::format("{}:{}", host, port) : listen.text();
    return "http://" + place + "/metrics";
}

}  // namespace

MetricsServer::MetricsServer(MetricsSetup setup, TaskGroup& tasks)
    : setup_(std::move(setup)), tasks_(tasks), metrics_(setup_.facts) {}

MetricsServer::~MetricsServer() = default;

void MetricsServer::take(protocol::JournalRecord const& record) {
    if (is_on()) metrics_.take(record);
}

std::optional<protocol::RunNotice> MetricsServer::start(Logger& log) {
    if (!is_on()) return {};
    auto const url = listen();
    if (url.has_value()) {
        log.info("serving metrics", {{"url", *url}});
        return protocol::make_notice(protocol::kMetricsNotice, "metrics: " + *url, "info");
    }
    server_.reset();
    setup_.listen.clear();
    auto const& why = url.error().message;
    log.warning("no metrics", {{"why", why}});
    return protocol::make_notice(
        protocol::kMetricsNotice,
        fmt::format("the run has no metrics: {}; port 0 takes any free one", why));
}

/// Its address.
Result<std::string> MetricsServer::listen() {
    auto const parsed = parse_listen(setup_.listen);
    if (parsed.has_error()) {
        return Error(parsed.error()).in("[daemon] metrics = " + setup_.listen);
    }
    std::optional<WebNames> names;
    if (parsed->is_loopback()) names = names_for(*parsed, setup_.host);
    auto answer = [this, names](WebRequest const& request) {
        return answer_metrics(request, names ? &*names : nullptr,
                              [this](MetricsFormat format) { return text(format); });
    };
    server_ = std::make_unique<HttpServer>(
        tasks_, WebCalls{.answer = std::move(answer), .plain = plain_response}, kLimits);
    OSORA_TRY_VOID(server_->listen(*parsed, "[daemon] metrics "));
    return url_of(*parsed, setup_.host, server_->port());
}

std::string MetricsServer::text(MetricsFormat format) {
    if (records_ != metrics_.records() || format_ != format) {
        text_ = metrics_text(metrics_.families(), metrics_.labels(), format);
        records_ = metrics_.records();
        format_ = format;
    }
    return text_;
}

}  // namespace osora::daemon
