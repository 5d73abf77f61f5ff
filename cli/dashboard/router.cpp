#include "cli/dashboard/router.hpp"

#include "base/ids.hpp"
#include "base/text/nearest.hpp"
#include "base/text/percent.hpp"
#include "base/text/text.hpp"
#include "cli/dashboard/runs_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::cli {
namespace {

WebResponse html_response(int status, WebPage const& page) {
    WebResponse response{.status = status, .headers = {}, .body = page_head(page.head) + page.body};
    add_guards(response, content_policy(page.head));
    return response;
}

WebResponse problem_response(WebProblem const& problem, WebRules const& rules) {
    return html_response(problem.status, problem_page(problem, rules.assets));
}

WebResponse report_response(ReportPage const& report, PageFrame const& frame,
                            WebRules const& rules) {
    WebResponse response{.headers = {}, .body = html_page(report, rules.report_assets, frame)};
    add_guards(response, content_policy(head_of(report, rules.report_assets, frame)));
    return response;
}

int status_of(Errc code) {
    if (code == Errc::not_found) return 404;
    return code == Errc::invalid_input ? 400 : 503;
}

/// The name that an error suggests ("; did you mean X?"), as a link.
WebProblem missing(Error const& error, std::string const& folder) {
    WebProblem problem{
        .status = status_of(error.code), .what = error.message, .near_path = {}, .near_name = {}};
    constexpr std::string_view kMean = "; did you mean ";
    auto const at = error.message.rfind(kMean);
    if (at == std::string::npos || !error.message.ends_with('?')) return problem;
    auto const begin = at + kMean.size();
    problem.near_name = error.message.substr(begin, error.message.size() - begin - 1);
    problem.near_path = folder + percent_encoded(problem.near_name);
    return problem;
}

bool has_token(WebRequest const& request, WebRules const& rules) {
    constexpr std::string_view kBearer = "Bearer ";
    if (rules.token.empty()) return true;
    if (equal_constant_time(cookie_of(request.cookie, rules.cookie), rules.token)) return true;
    return request.authorization.starts_with(kBearer) &&
           equal_constant_time(request.authorization.substr(kBearer.size()), rules.token);
}

/// The same address without the token, which a cookie holds from now on.
WebResponse with_cookie(WebTarget const& target, WebRules const& rules) {
    std::string path;
    for (auto const& each : target.path) path += "/" + percent_encoded(each);
    if (path.empty()) path = "/";
    auto response = plain_response(303, "see " + path + "\n");
    response.headers.emplace_back("Location", path);
    response.headers.emplace_back(
        "Set-Cookie",
        fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", rules.cookie, rules.token));
    return response;
}

Result<RunFilter> filter_of(WebTarget const& target) {
    constexpr std::array<std::string_view, 4> kKeys{"name", "series", "state", "page"};
    constexpr int kPageMax = 1'000'000;
    RunFilter filter;
    for (auto const& [key, value] : target.query) {
        if (key == "name") filter.name = value;
        if (key == "series") filter.series = value;
        if (key == "state") filter.state = value;
        if (key == "page") {
            auto const page = whole_number<int>(value);
            if (!page || *page < 1 || *page > kPageMax) {
                return invalid(fmt::format("page={}: must be a number from 1 on", value));
            }
            filter.page = *page;
        }
        if (std::ranges::find(kKeys, key) != kKeys.end()) continue;
        auto const near = nearest_name(key, kKeys);
        return invalid(fmt::format("{}: no such filter; {}", key,
                                   near ? fmt::format("did you mean {}?", *near)
                                        : "they are name, series, state and page"));
    }
    return filter;
}

WebResponse runs_response(WebTarget const& target, WebRules const& rules, DashboardView& view) {
    auto const filter = filter_of(target);
    if (filter.has_error()) return problem_response(missing(filter.error(), "/?"), rules);
    auto const list = view.runs(*filter);
    if (list.has_error()) return problem_response(missing(list.error(), "/run/"), rules);
    if (filter->page > list->pages()) {
        return problem_response({.what = fmt::format("page {}: there are {}", filter->page,
                                                     counted(list->pages(), "page")),
                                 .near_path = "/",
                                 .near_name = "all runs"},
                                rules);
    }
    return html_response(200, runs_page(*list, *filter, rules.assets));
}

WebResponse run_response(std::string const& id, WebRules const& rules, DashboardView& view) {
    auto const run = view.run(id);
    if (run.has_error()) return problem_response(missing(run.error(), "/run/"), rules);
    PageFrame frame{.above = page_links(), .style = rules.assets.style};
    if (!run->row.over) {
        frame.above += live_lines(run->row);
        frame.script = rules.assets.script;
    }
    return report_response(run->report, frame, rules);
}

WebResponse series_response(std::string const& name, WebRules const& rules, DashboardView& view) {
    auto const series = view.series(name);
    if (series.has_error()) return problem_response(missing(series.error(), "/series/"), rules);
    return report_response(*series, {.above = page_links(), .style = rules.assets.style}, rules);
}

WebResponse diff_response(WebTarget const& target, WebRules const& rules, DashboardView& view) {
    auto const side = [&](char const* key) {
        auto const found = target.query.find(key);
        return found == target.query.end() ? std::string{} : found->second;
    };
    auto const a = side("a"), b = side("b");
    if (a.empty() || b.empty() || target.query.size() > 2) {
        return problem_response({.status = 400,
                                 .what = "two runs are compared: /diff?a=41&b=42",
                                 .near_path = "/",
                                 .near_name = "all runs"},
                                rules);
    }
    auto const diff = view.diff(a, b);
    if (diff.has_error()) return problem_response(missing(diff.error(), "/run/"), rules);
    return report_response(*diff, {.above = page_links(), .style = rules.assets.style}, rules);
}

WebResponse events_response() {
    WebResponse response{.type = "text/event-stream", .headers = {}, .body = {}, .is_events = true};
    add_guards(response, "default-src 'none'");
    return response;
}

WebResponse no_such_page(WebTarget const& target, WebRules const& rules) {
    constexpr std::array<std::string_view, 4> kPages{"run", "series", "diff", "events"};
    WebProblem problem{.what = "there is no such page", .near_path = "/", .near_name = "all runs"};
    auto const near = nearest_name(target.path.front(), kPages);
    if (near) problem.what += fmt::format("; did you mean /{}?", *near);
    return problem_response(problem, rules);
}

}  // namespace

WebRules rules_for(ListenAddress const& listen, std::string const& host) {
    WebRules rules{
        .names = names_for(listen, host), .token = {}, .report_assets = {}, .assets = {}};
    rules.report_assets = web::page_assets();
    rules.assets = web::dashboard_assets();
    return rules;
}

WebResponse answer(WebRequest const& request, WebRules const& rules, DashboardView& view) {
    if (request.method != "GET" && request.method != "HEAD") {
        return method_refused();
    }
    if (auto const why = refusal(request, rules.names); !why.empty()) {
        return plain_response(403, why + "\n");
    }
    auto target = parse_target(request.target);
    if (target.has_error()) return plain_response(400, target.error().message + "\n");
    if (!has_token(request, rules)) {
        auto const given = target->query.find("token");
        if (given != target->query.end() && equal_constant_time(given->second, rules.token)) {
            return with_cookie(*target, rules);
        }
        return plain_response(
            401, "open the address that osora dashboard printed: it holds the token\n");
    }
    target->query.erase("token");  // sent once more by an old address
    auto const& path = target->path;
    if (path.empty()) return runs_response(*target, rules, view);
    if (path.size() == 2 && path[0] == "run") return run_response(path[1], rules, view);
    if (path.size() == 2 && path[0] == "series") return series_response(path[1], rules, view);
    if (path.size() == 1 && path[0] == "diff") return diff_response(*target, rules, view);
    if (path.size() == 1 && path[0] == "events") return events_response();
    if (path.size() == 1 && path[0] == "favicon.ico") return plain_response(204, "");
    return no_such_page(*target, rules);
}

}  // namespace osora::cli
