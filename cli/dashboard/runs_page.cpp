#include "cli/dashboard/runs_page.hpp"

#include "base/http/web_request.hpp"
#include "base/text/percent.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "base/version.hpp"
#include "cli/text/html.hpp"
#include "cli/text/wall_time.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

constexpr char const* kNoScript =
    "<noscript><p class=\"plain\">Without JavaScript the figures stay as they are: reload the page "
    "to refresh them.</p></noscript>\n";

std::string count_text(int done, int planned) {
    if (planned == 0) return done == 0 ? "-" : format_count(done);
    return fmt::format("{}/{}", format_count(done), format_count(planned));
}

std::string rate_text(double samples_per_s) {
    return std::isnan(samples_per_s) ? "-" : three_digits(samples_per_s) + " samples/s";
}

std::string time_text(std::optional<std::int64_t> wall_us) {
    return wall_us ? utc_text(wall_us).substr(0, 16) : "-";
}

std::string link_to(std::string const& path, std::string_view text) {
    return fmt::format("<a href=\"{}\">{}</a>", html_text(path), html_text(text));
}

/// `field`: the script of the page finds the cell by it.
std::string table_data(std::string_view field, std::string_view text, bool is_number = true) {
    return fmt::format("<td data-field=\"{}\"{}>{}</td>", field,
                       is_number ? " class=\"number\"" : "", html_text(text));
}

std::string table_line(RunRow const& row) {
    std::string text =
        fmt::format("<tr data-run=\"{}\"{}>", html_text(row.id), row.over ? "" : " class=\"live\"");
    text += fmt::format("<th scope=\"row\">{}</th>",
                        link_to("/run/" + percent_encoded(row.id), row.name));
    text += table_data("state", row.state, false);
    text += row.series.empty()
                ? table_data("series", "-", false)
                : fmt::format("<td data-field=\"series\">{}</td>",
                              link_to("/series/" + percent_encoded(row.series), row.series));
    text += table_data("step", count_text(row.steps_done, row.steps_planned));
    text += table_data("time", std::isnan(row.step_time_s) ? "-" : format_seconds(row.step_time_s));
    text += table_data("rate", rate_text(row.samples_per_s));
    text += table_data("nodes", std::to_string(row.nodes));
    text += table_data("started", time_text(row.started_us), false);
    text += table_data("ended", time_text(row.ended_us), false);
    text += fmt::format("<td data-field=\"verdict\"{}>{}</td></tr>\n",
                        row.good ? "" : " class=\"verdict-bad\"",
                        html_text(row.verdict.empty() ? "-" : row.verdict));
    return text;
}

std::string runs_table(RunList const& list) {
    std::string text =
        "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\"><table>\n"
        "<caption>Runs, newest first; times are UTC, step times are medians</caption>\n"
        "<thead><tr>";
    for (char const* title : {"run", "state", "series"}) {
        text += fmt::format("<th scope=\"col\">{}</th>", title);
    }
    for (char const* title : {"step", "step time", "throughput", "nodes"}) {
        text += fmt::format("<th scope=\"col\" class=\"number\">{}</th>", title);
    }
    for (char const* title : {"started", "ended", "verdict"}) {
        text += fmt::format("<th scope=\"col\">{}</th>", title);
    }
    text += "</tr></thead>\n<tbody id=\"runs\">\n";
    for (auto const& row : list.rows) text += table_line(row);
    return text + "</tbody></table></div>\n";
}

std::string input_field(std::string_view name, std::string_view value,
                        std::vector<std::string> const* choices) {
    std::string text = fmt::format(
        "<label>{0} <input name=\"{0}\" value=\"{1}\" autocomplete=\"off\"{2}></label>\n", name,
        html_text(value), choices != nullptr ? fmt::format(" list=\"all-{}\"", name) : "");
    if (choices == nullptr) return text;
    text += fmt::format("<datalist id=\"all-{}\">", name);
    for (auto const& each : *choices) {
        text += fmt::format("<option value=\"{}\"></option>", html_text(each));
    }
    return text + "</datalist>\n";
}

std::string filter_form(RunList const& list, RunFilter const& filter) {
    return "<form action=\"/\" method=\"get\" role=\"search\">\n" +
           input_field("name", filter.name, nullptr) +
           input_field("series", filter.series, &list.series) +
           input_field("state", filter.state, &list.states) +
           "<button>Filter</button> <a href=\"/\">all runs</a>\n</form>\n";
}

/// Compares two runs of the history, whether they are on this page or not.
std::string diff_form(RunList const& list) {
    if (list.total < 2) return {};
    return "<form action=\"/diff\" method=\"get\">\n"
           "<label>run <input name=\"a\" required autocomplete=\"off\" size=\"12\"></label>\n"
           "<label>with run <input name=\"b\" required autocomplete=\"off\" "
           "size=\"12\"></label>\n<button>Compare</button>\n</form>\n";
}

std::string page_path(RunFilter const& filter, int page) {
    std::string query;
    auto const add = [&query](std::string_view key, std::string const& value) {
        if (!value.empty()) query += fmt::format("&{}={}", key, percent_encoded(value));
    };
    add("name", filter.name);
    add("series", filter.series);
    add("state", filter.state);
    return fmt::format("/?page={}{}", page, query);
}

std::string other_pages(RunList const& list, RunFilter const& filter) {
    if (list.pages() == 1) return {};
    std::string text = "<nav class=\"pages\" aria-label=\"Pages\">";
    if (filter.page > 1) text += link_to(page_path(filter, filter.page - 1), "newer runs") + " · ";
    text += fmt::format("page {} of {}", filter.page, list.pages());
    if (filter.page < list.pages()) {
        text += " · " + link_to(page_path(filter, filter.page + 1), "older runs");
    }
    return text + "</nav>\n";
}

std::string nothing_text(RunFilter const& filter) {
    bool const is_filtered = !(filter.name + filter.series + filter.state).empty();
    if (!is_filtered) {
        return "<p class=\"plain\">No run yet: <code>osora submit RUN.toml</code> starts "
               "one.</p>\n";
    }
    return "<p class=\"plain\">No run has this name, series and state; " +
           link_to("/", "all runs") + " lists what there is.</p>\n";
}

std::string page_end() {
    return fmt::format(
        "<footer>\n<p>osora {} · osora dashboard only reads: it starts, stops and "
        "changes no run</p>\n</footer>\n",
        kVersion);
}

}  // namespace

std::string page_links() {
    return "<nav class=\"top\" aria-label=\"osora\"><a href=\"/\">all runs</a></nav>\n";
}

std::string live_lines(RunRow const& row) {
    return fmt::format(
               "<section class=\"now\" id=\"now\" data-run=\"{}\" aria-label=\"Live state\">"
               "<strong data-field=\"state\">{}</strong> · step <span data-field=\"step\">{}</span>"
               " · <span data-field=\"time\">{}</span>/step · <span data-field=\"rate\">{}</span>"
               " · <span data-field=\"eta\">-</span> left · memory <span data-field=\"memory\">-"
               "</span> · exposed communication <span data-field=\"exposed\">-</span>"
               "<p data-field=\"event\"></p></section>\n",
               html_text(row.id), html_text(row.state),
               count_text(row.steps_done, row.steps_planned),
               std::isnan(row.step_time_s) ? "-" : format_seconds(row.step_time_s),
               rate_text(row.samples_per_s)) +
           kNoScript;
}

WebPage runs_page(RunList const& list, RunFilter const& filter,
                  web::DashboardAssets const& assets) {
    WebPage page{.head = {.title = "osora · runs",
                          .styles = {assets.report_style, assets.style},
                          .scripts = {assets.script},
                          .fetches = true,
                          .has_forms = true},
                 .body = {}};
    page.body = "<body>\n<main>\n<h1>Runs</h1>\n";
    page.body += fmt::format("<p class=\"about\">{}, {} in progress</p>\n",
                             counted(list.total, "run"), list.in_progress);
    for (auto const& each : list.warnings) {
        page.body += fmt::format("<p class=\"plain\">{}</p>\n", html_text(each));
    }
    page.body += filter_form(list, filter) + diff_form(list) + kNoScript;
    page.body += "<p class=\"plain\" id=\"news\" role=\"status\" hidden></p>\n";
    page.body += list.rows.empty() ? nothing_text(filter) : runs_table(list);
    page.body += other_pages(list, filter) + "</main>\n" + page_end();
    page.body += fmt::format("<script>{}</script>\n</body>\n</html>\n", assets.script);
    return page;
}

WebPage problem_page(WebProblem const& problem, web::DashboardAssets const& assets) {
    WebPage page{.head = {.title = fmt::format("osora · {}", problem.status),
                          .styles = {assets.report_style, assets.style},
                          .scripts = {}},
                 .body = {}};
    page.body = "<body>\n" + page_links() + "<main>\n";
    page.body += fmt::format("<h1>{}</h1>\n<p>{}</p>\n", problem.status, html_text(problem.what));
    if (!problem.near_path.empty()) {
        page.body += fmt::format("<p>{}</p>\n", link_to(problem.near_path, problem.near_name));
    }
    page.body += "</main>\n" + page_end() + "</body>\n</html>\n";
    return page;
}

}  // namespace osora::cli
