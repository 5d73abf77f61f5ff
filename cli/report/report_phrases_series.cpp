// The sentences of a series' report: notes on its figures, and the runs that are left out.
#include "cli/report/report_phrases.hpp"
#include "cli/report/report_tables.hpp"
#include "cli/report/trend_text.hpp"

#include <fmt/format.h>

namespace osora::cli {

using namespace db::analysis;

constexpr std::size_t kLeftOutShown = 5;

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

ReportPhrases phrases_of(SeriesReport const& report) {
    ReportPhrases words{
        .title = series_title(report), .about = {}, .answer = {}, .why = {}, .next = {}};
    if (report.rows.empty()) {
        words.answer.push_back({"answer", {"no run has enough steps to compare"}});
    } else {
        words.answer.push_back({"trend", trend_sentences(report)});
    }
    words.next = trend_commands(report);
    words.next.insert(words.next.end(), report.next.begin(), report.next.end());
    for (auto const& remark : series_remarks(report)) words.why.push_back({"note", {remark}});
    for (std::size_t i = 0; i < report.left_out.size() && i < kLeftOutShown; ++i) {
        auto const& each = report.left_out[i];
        words.why.push_back(
            {"left out", {fmt::format("run {} ({}): {}", each.number, each.name, each.reason)}});
    }
    if (report.left_out.size() > kLeftOutShown) {
        words.why.push_back(
            {"left out", {fmt::format("and {} more", report.left_out.size() - kLeftOutShown)}});
    }
    return words;
}

Advice advice_of(std::string const& next) {
    if (!next.starts_with("osora ") && !next.starts_with("--set ")) return {"", next};
    auto const colon = next.find(": ");
    if (colon == std::string::npos) return {next, ""};
    return {next.substr(0, colon), next.substr(colon + 2)};
}

}  // namespace osora::cli
