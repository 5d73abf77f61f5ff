// What `osora dashboard` answers to a request. Pure: a request, the rules of this server and a view
// of the history in, a response out. docs/rfc/030 says which request is refused and why.
#pragma once

#include "cli/dashboard/dashboard_view.hpp"
#include "cli/dashboard/web_request.hpp"
#include "web/dashboard/dashboard_assets.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct WebRules {
    std::vector<std::string> hosts;  // names in Host that are this server, in lower case
    bool any_address = false;        // every IP address in Host is: it listens on all
    std::string token;               // empty: none is asked for
    std::string cookie = "osora";    // holds the token
    web::PageAssets report_assets;
    web::DashboardAssets assets;
};

/// Names that a browser may use for a server on `listen`; `host` is the name of this machine.
[[nodiscard]] WebRules rules_for(ListenAddress const& listen, std::string const& host);

[[nodiscard]] WebResponse answer(WebRequest const& request, WebRules const& rules,
                                 DashboardView& view);

/// For requests that cannot be read, and when there are too many: text, with the same headers.
[[nodiscard]] WebResponse plain_response(int status, std::string const& text);

}  // namespace osora::cli
