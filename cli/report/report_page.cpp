#include "cli/report/report_page.hpp"

#include "base/version.hpp"
#include "cli/report/report_tables.hpp"
#include "cli/report/trend_text.hpp"
#include "cli/text/html.hpp"

#include <fmt/format.h>

#include <sstream>

namespace osora::cli {
namespace {

std::string list(Paragraphs const& paragraphs, std::string_view kind) {
    if (paragraphs.empty()) return {};
    std::string text = fmt::format("<dl class=\"{}\">\n", kind);
    for (auto const& each : paragraphs) {
        text += fmt::format("<dt>{}</dt>\n", html_text(each.label));
        for (auto const& line : each.lines) text += fmt::format("<dd>{}</dd>\n", html_text(line));
    }
    return text + "</dl>\n";
}

std::string next_list(std::vector<std::string> const& next) {
    if (next.empty()) return {};
    std::string text = "<h2>What next</h2>\n<ul class=\"next\">\n";
    for (auto const& each : next) {
        auto const advice = advice_of(each);
        text += "<li>";
        if (!advice.command.empty()) {
            text += fmt::format("<code>{}</code>", html_text(advice.command));
            if (!advice.reason.empty()) text += ": ";
        }
        text += html_text(advice.reason) + "</li>\n";
    }
    return text + "</ul>\n";
}

std::string figures(ReportPage const& page) {
    std::string text;
    for (auto const& each : page.figures) {
        text += fmt::format(
            "<figure id=\"chart-{0}\" aria-labelledby=\"title-{0}\">\n<h3 "
            "id=\"title-{0}\">{1}</h3>\n"
            "<div class=\"plot\" role=\"img\" aria-label=\"{2}\"></div>\n"
            "<figcaption>{3}</figcaption>\n</figure>\n",
            each.id, html_text(each.title), html_text(each.label), html_text(each.caption));
    }
    return text;
}

std::string charts(ReportPage const& page, web::PageAssets const& assets) {
    if (page.figures.empty()) return {};
    if (assets.script.empty()) {
        return "<h2>Charts</h2>\n<p class=\"plain\">This osora was built without charts: "
               "scripts/bootstrap fetches what they need, then build again. Every figure is in "
               "the tables.</p>\n";
    }
    return "<h2>Charts</h2>\n<noscript><p class=\"plain\">Charts need JavaScript. Every figure is "
           "in the tables.</p></noscript>\n" +
           figures(page);
}

std::string script(ReportPage const& page, web::PageAssets const& assets) {
    if (page.figures.empty() || assets.script.empty()) return {};
    protocol::json::array list;
    for (auto const& each : page.figures) {
        auto data = each.data;
        data["id"] = each.id;
        list.push_back(std::move(data));
    }
    return "<script type=\"application/json\" id=\"report-data\">" +
           html_json(protocol::json::object{{"schema", "osora.report_page/1"}, {"charts", list}}) +
           fmt::format("</script>\n<script>{}</script>\n", assets.script);
}

std::string footer(ReportPage const& page, web::PageAssets const& assets, PageFrame const& frame) {
    std::string text = fmt::format(
        "<footer>\n<p>osora {} · {}</p>\n", kVersion,
        frame.script.empty() ? "this page is complete: it fetches nothing"
                             : "the first lines follow the run; reload the page for the rest");
    if (!page.figures.empty() && !assets.script.empty()) {
        text +=
            "<details><summary>Licences of the charts (Apache ECharts, zrender)</summary>\n<pre>";
        std::istringstream lines{std::string(assets.licences)};
        for (std::string line; std::getline(lines, line);) text += html_text(line) + "\n";
        text += "</pre>\n</details>\n";
    }
    return text + "</footer>\n";
}

}  // namespace

ReportPage page_of(db::analysis::RunReport const& report, std::vector<PageFigure> figures) {
    ReportPage page{.words = phrases_of(report),
                    .good = report.state.good,
                    .tables = {},
                    .figures = std::move(figures)};
    if (!report.phases.empty()) {
        page.tables.push_back(
            {"Where the time of a step goes: means over ranks and steps", phase_table(report)});
    }
    if (!report.buckets.empty()) {
        page.tables.push_back({"Buckets: medians over steps", bucket_table(report)});
    }
    if (!report.collectives.empty()) {
        page.tables.push_back(
            {"Collectives by class: means over ranks and steps", collective_table(report)});
    }
    if (report.run.plan && report.run.plan->batch_curve.size() > 1) {
        page.tables.push_back({"Other global batches of the first bucket, as planned",
                               batch_table(*report.run.plan)});
    }
    if (!report.probe.nodes.empty()) {
        page.tables.push_back({"Nodes: medians over their pairs", probe_table(report)});
    }
    return page;
}

ReportPage page_of(db::analysis::SeriesReport const& report, std::vector<PageFigure> figures) {
    ReportPage page{
        .words = phrases_of(report), .good = true, .tables = {}, .figures = std::move(figures)};
    for (auto const& trend : report.trends) {
        page.good = page.good && regression_of(trend) != db::analysis::Regression::confirmed;
    }
    if (!report.rows.empty()) {
        page.tables.push_back({"Runs by number of ranks: medians", scaling_table(report)});
    }
    auto changes = change_table(report);
    if (!changes.rows.empty()) {
        page.tables.push_back(
            {"Changes of step time: medians of the runs before and after", std::move(changes)});
    }
    return page;
}

PageHead head_of(ReportPage const& page, web::PageAssets const& assets, PageFrame const& frame) {
    return {.title = page.words.title,
            .styles = {assets.style, frame.style},
            .scripts = {assets.script, frame.script},
            .fetches = !frame.script.empty()};
}

std::string html_page(ReportPage const& page, web::PageAssets const& assets,
                      PageFrame const& frame) {
    auto const& words = page.words;
    std::string text =
        page_head(head_of(page, assets, frame)) + "<body>\n" + frame.above + "<main>\n";
    text += fmt::format("<h1{}>{}</h1>\n", page.good ? "" : " class=\"verdict-bad\"",
                        html_text(words.title));
    for (auto const& line : words.about) {
        text += fmt::format("<p class=\"about\">{}</p>\n", html_text(line));
    }
    text += list(words.answer, "answer");
    if (!words.why.empty()) text += "<h2>Why</h2>\n" + list(words.why, "why");
    text += next_list(words.next);
    if (!page.tables.empty()) text += "<h2>Tables</h2>\n";
    for (auto const& each : page.tables) text += html_table(each.table, each.caption);
    text += charts(page, assets) + "</main>\n" + footer(page, assets, frame);
    text += script(page, assets);
    if (!frame.script.empty()) text += fmt::format("<script>{}</script>\n", frame.script);
    return text + "</body>\n</html>\n";
}

}  // namespace osora::cli
