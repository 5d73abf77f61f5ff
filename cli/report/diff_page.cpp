#include "cli/report/diff_page.hpp"

#include "base/text/text.hpp"
#include "cli/report/diff_parts.hpp"
#include "cli/text/fact_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis;

std::string runs_of(ComparedSide const& side) {
    std::string text = side.runs.size() == 1 ? "run" : "runs";
    for (auto const& each : side.runs) text += fmt::format(" {}", each.run.number);
    return text;
}

TextTable differences_table(std::vector<Difference> const& items) {
    TextTable table;
    table.columns = {
        {"item", "key", false}, {"kind", "kind", false}, {"A", "a", false}, {"B", "b", false}};
    auto const value = [](std::string const& fact) {
        return text_cell(fact.empty() ? "(none)" : plain_number(fact));
    };
    for (auto const& each : items) {
        table.rows.push_back(
            {text_cell(each.key), text_cell(each.kind), value(each.a), value(each.b)});
    }
    return table;
}

PageFigure of_side(PageFigure figure, std::string_view side) {
    figure.id += side == "A" ? "-a" : "-b";
    figure.title = fmt::format("{}: {}", side, figure.title);
    figure.label = fmt::format("{}: {}", side, figure.label);
    return figure;
}

/// Each chart of A, and that of B below it.
std::vector<PageFigure> side_by_side(DiffFigures figures) {
    std::vector<PageFigure> all;
    for (auto& each : figures.a) {
        auto const same = std::ranges::find(figures.b, each.id, &PageFigure::id);
        all.push_back(of_side(std::move(each), "A"));
        if (same == figures.b.end()) continue;
        all.push_back(of_side(std::move(*same), "B"));
        figures.b.erase(same);
    }
    for (auto& each : figures.b) all.push_back(of_side(std::move(each), "B"));
    return all;
}

}  // namespace

ReportPage diff_page(RunComparison const& found, std::string const& asked_a,
                     std::string const& asked_b, DiffFigures figures) {
    auto const unit = diff_unit(found);
    ReportPage page{.words = {}, .tables = {}, .figures = side_by_side(std::move(figures))};
    page.good = found.verdict != SpeedVerdict::slower;
    page.words.title = fmt::format("{} (A) and {} (B)", runs_of(found.a), runs_of(found.b));
    page.words.about = {"A: " + diff_side(found.a, unit), "B: " + diff_side(found.b, unit)};
    page.words.answer = {{"answer", {diff_answer(found, unit)}}};
    if (found.waterfall.enough()) {
        auto table = waterfall_table(found.waterfall, unit);
        if (!table.rows.empty()) {
            page.words.answer.push_back({"steps", waterfall_notes(found.waterfall)});
            page.tables.push_back({"Where the seconds of a step went", std::move(table)});
        }
        auto const slow = diff_stragglers(found);
        if (!slow.empty()) page.words.why.push_back({"slow", slow});
        auto efficiency = efficiency_table(found);
        if (!efficiency.rows.empty()) {
            page.tables.push_back({"How well both use their ranks", std::move(efficiency)});
        }
    }
    if (found.differences.empty()) {
        page.words.answer.push_back({"items", {"nothing that is recorded differs"}});
    } else {
        auto const count = static_cast<std::int64_t>(found.differences.size());
        page.tables.push_back({counted(count, "item") + (count == 1 ? " differs" : " differ"),
                               differences_table(found.differences)});
    }
    auto const next = diff_next(found, asked_a, asked_b);
    if (!next.empty()) page.words.next = {next + ": proves which of the items made B slower"};
    return page;
}

}  // namespace osora::cli
