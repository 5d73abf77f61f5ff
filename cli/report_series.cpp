// A series' report for people: the scaling table, what its figures do not say, and which runs are
// not in it.
#include "cli/report_tables.hpp"
#include "cli/terminal.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr int kColumns = 80;
constexpr int kIndent = 9;
constexpr std::size_t kLeftOutShown = 5;

std::string block(std::string_view label, std::string const& body) {
    std::string const lines = filled(printable(body), kIndent, kColumns);
    return lines.empty() ? lines : fmt::format("{:<{}}{}", label, kIndent, lines.substr(kIndent));
}

}  // namespace

std::string series_title(SeriesReport const& report) {
    std::string what;
    switch (report.scaling) {
        case Scaling::one_size:
            what = "one size";
            break;
        case Scaling::strong:
            what = "strong scaling, " + report.held_equal;
            break;
        case Scaling::weak:
            what = "weak scaling, " + report.held_equal;
            break;
        case Scaling::neither:
            what = "several sizes and batches";
            break;
    }
    return fmt::format("series {} · {} · {} run{}", report.name, what, report.runs,
                       report.runs == 1 ? "" : "s");
}

std::vector<std::string> series_remarks(SeriesReport const& report) {
    std::vector<std::string> remarks;
    for (auto const& row : report.rows) {
        if (!row.loss.empty()) remarks.push_back(fmt::format("{} ranks: {}", row.ranks, row.loss));
    }
    remarks.insert(remarks.end(), report.notes.begin(), report.notes.end());
    return remarks;
}

std::string series_report_text(SeriesReport const& report) {
    std::string text = filled(printable(series_title(report)), 0, kColumns);
    if (report.rows.empty()) {
        text += "no run has enough steps to compare\n";
    } else {
        text += "\n" + draw_text(scaling_table(report));
    }
    std::string below;
    for (auto const& remark : series_remarks(report)) below += block("note", remark);
    for (std::size_t i = 0; i < report.left_out.size() && i < kLeftOutShown; ++i) {
        auto const& each = report.left_out[i];
        below +=
            block("left out", fmt::format("run {} ({}): {}", each.number, each.name, each.reason));
    }
    if (report.left_out.size() > kLeftOutShown) {
        below +=
            block("left out", fmt::format("and {} more", report.left_out.size() - kLeftOutShown));
    }
    for (auto const& each : report.next) below += block("next", each);
    return below.empty() ? text : text + "\n" + below;
}

std::string series_report_markdown(SeriesReport const& report) {
    std::string text = "# " + markdown_text(series_title(report)) + "\n\n";
    text += draw_markdown(scaling_table(report)) + "\n";
    for (auto const& remark : series_remarks(report)) text += "- " + markdown_text(remark) + "\n";
    for (auto const& each : report.left_out) {
        text += fmt::format("- left out: run {} ({}): {}\n", each.number, markdown_text(each.name),
                            markdown_text(each.reason));
    }
    return text;
}

}  // namespace osora::cli
