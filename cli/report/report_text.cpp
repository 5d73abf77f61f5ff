// Reports for a terminal and as Markdown: text wrapped to 80 columns, with tables.
#include "cli/report/report_phrases.hpp"
#include "cli/report/report_tables.hpp"
#include "cli/report/trend_text.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

using namespace db::analysis;

/// Lines wrapped to the page, with `label` before the first one.
std::string lines_block(std::string_view label, std::vector<std::string> const& lines) {
    std::string text;
    for (auto const& line : lines) text += filled(printable(line), kLabelColumns, kColumns);
    if (text.empty()) return text;
    return fmt::format("{:<{}}{}", label, kLabelColumns, text.substr(kLabelColumns));
}

std::string blocks(Paragraphs const& paragraphs) {
    std::string text;
    for (auto const& each : paragraphs) text += lines_block(each.label, each.lines);
    return text;
}

}  // namespace

std::string run_report_text(RunReport const& report) {
    auto const words = phrases_of(report);
    std::string text = filled(printable(words.title), 0, kColumns);
    for (auto const& line : words.about) text += filled(line, 0, kColumns);
    text += "\n" + blocks(words.answer);
    if (!report.phases.empty()) text += "\n" + draw_text(phase_table(report));
    if (!report.buckets.empty()) text += "\n" + draw_text(bucket_table(report));
    if (!report.collectives.empty()) text += "\n" + draw_text(collective_table(report));
    if (!report.probe.nodes.empty()) text += "\n" + draw_text(probe_table(report));
    std::string const events = blocks(words.why) + lines_block("next", words.next);
    if (!events.empty()) text += "\n" + events;
    return text;
}

std::string series_report_text(SeriesReport const& report) {
    auto const words = phrases_of(report);
    std::string text = filled(printable(words.title), 0, kColumns);
    for (auto const& each : words.answer) {
        for (auto const& line : each.lines) text += filled(printable(line), 0, kColumns);
    }
    if (!report.rows.empty()) text += "\n" + draw_text(scaling_table(report));
    auto const changes = change_table(report);
    if (!changes.rows.empty()) text += "\n" + draw_text(changes);
    std::string below = blocks(words.why);
    for (auto const& each : words.next) below += lines_block("next", {each});
    return below.empty() ? text : text + "\n" + below;
}

std::string series_report_markdown(SeriesReport const& report) {
    std::string text = "# " + markdown_text(series_title(report)) + "\n\n";
    for (auto const& each : phrases_of(report).answer) {
        for (auto const& line : each.lines) text += markdown_text(line) + "\n\n";
    }
    text += draw_markdown(scaling_table(report)) + "\n";
    auto const changes = change_table(report);
    if (!changes.rows.empty()) text += draw_markdown(changes) + "\n";
    for (auto const& remark : series_remarks(report)) text += "- " + markdown_text(remark) + "\n";
    for (auto const& each : report.left_out) {
        text += fmt::format("- left out: run {} ({}): {}\n", each.number, markdown_text(each.name),
                            markdown_text(each.reason));
    }
    return text;
}

}  // namespace osora::cli
