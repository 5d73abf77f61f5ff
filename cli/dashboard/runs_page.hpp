// The pages of `osora dashboard` that are no report: the table of runs, and errors. Pure.
#pragma once

#include "cli/dashboard/dashboard_view.hpp"
#include "cli/text/page_head.hpp"
#include "web/dashboard/dashboard_assets.hpp"

#include <string>
#include <string_view>

namespace osora::cli {

/// A page in two parts, so that its policy can also be sent as a header.
struct WebPage {
    PageHead head;
    std::string body;  // from <body> to </html>
};

/// The first lines of every page: links to the other pages.
[[nodiscard]] std::string page_links();
/// A run that is in progress: a line that the script keeps up to date.
[[nodiscard]] std::string live_lines(RunRow const& row);

[[nodiscard]] WebPage runs_page(RunList const& list, RunFilter const& filter,
                                web::DashboardAssets const& assets);

/// "404: run 17: no such run; did you mean 71?", and a link to what was probably meant.
struct WebProblem {
    int status = 404;
    std::string what;
    std::string near_path, near_name;  // empty: none is near
};
[[nodiscard]] WebPage problem_page(WebProblem const& problem, web::DashboardAssets const& assets);

}  // namespace osora::cli
