// What `osora dashboard` answers to a request. Pure: a request, the rules of this server and a view
// of the history in, a response out. docs/rfc/030 says which request is refused and why.
#pragma once

#include "base/http/web_request.hpp"
#include "cli/dashboard/dashboard_view.hpp"
#include "web/dashboard/dashboard_assets.hpp"

#include <string>

namespace osora::cli {

struct WebRules {
    WebNames names;
    std::string token;             // empty: none is asked for
    std::string cookie = "osora";  // holds the token
    web::PageAssets report_assets;
    web::DashboardAssets assets;
};

/// Names that a browser may use for a server on `listen`; `host` is the name of this machine.
[[nodiscard]] WebRules rules_for(ListenAddress const& listen, std::string const& host);

[[nodiscard]] WebResponse answer(WebRequest const& request, WebRules const& rules,
                                 DashboardView& view);

}  // namespace osora::cli
