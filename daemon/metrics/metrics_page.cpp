#include "daemon/metrics/metrics_page.hpp"

namespace osora::daemon {

WebResponse answer_metrics(WebRequest const& request, WebNames const* names,
                           MetricsText const& text) {
    if (request.method != "GET" && request.method != "HEAD") return method_refused();
    if (names != nullptr) {
        auto const why = refusal(request, *names);
        if (!why.empty()) return plain_response(403, why + "\n");
    }
    auto const target = parse_target(request.target);
    if (target.has_error()) return plain_response(400, target.error().message + "\n");
    if (target->path != std::vector<std::string>{"metrics"}) {
        return plain_response(404, "there is no such page; the metrics are at /metrics\n");
    }
    auto const format = format_for(request.accept);
    WebResponse response{.type = std::string(content_type(format)),
                         .headers = {{"Vary", "Accept"}},
                         .body = text(format)};
    add_guards(response, "default-src 'none'");
    return response;
}

}  // namespace osora::daemon
