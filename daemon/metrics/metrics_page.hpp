// What the controller answers to a request for metrics. Pure: a request and the text in, a response
// out.
#pragma once

#include "base/http/web_request.hpp"
#include "daemon/metrics/open_metrics.hpp"

#include <functional>
#include <string>

namespace osora::daemon {

using MetricsText = std::function<std::string(MetricsFormat)>;

/// Host and Origin are compared with `names` on loopback only (null: another address, whose metrics
/// everyone can read anyway): names that lead to 127.0.0.1 are how a web page reads local ports.
[[nodiscard]] WebResponse answer_metrics(WebRequest const& request, WebNames const* names,
                                         MetricsText const& text);

}  // namespace osora::daemon
