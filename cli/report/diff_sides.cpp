#include "cli/report/diff_sides.hpp"

#include "base/text/text.hpp"
#include "cli/command/history_access.hpp"
#include "cli/report/diff_page.hpp"
#include "cli/report/report_figures.hpp"
#include "db/store/queries.hpp"

#include <fmt/format.h>

#include <set>

namespace osora::cli {
namespace {

constexpr std::size_t kRunsMax = 100;

/// The runs that "41,42,43" names.
Result<std::vector<db::RunHistory>> side_of(db::Store& store, std::string const& asked) {
    auto const words = split(asked, ',');
    if (words.size() > kRunsMax) {
        return Error{Errc::invalid_input, fmt::format("at most {} runs on a side", kRunsMax)};
    }
    std::vector<db::RunHistory> runs;
    for (auto const& word : words) {
        if (word.empty())
            return Error{Errc::invalid_input, fmt::format("an empty name in '{}'", asked)};
        OSORA_TRY(auto const run, db::find_run(store, word));
        OSORA_TRY(auto history, db::load_run(store, run.run_id));
        runs.push_back(std::move(history));
    }
    return runs;
}

std::vector<PageFigure> figures_of(std::vector<db::RunHistory> const& side) {
    auto const& history = side.back();
    auto const report = db::analysis::run_report(history, liveness_of(history.summary.run));
    return run_figures(report, history);
}

}  // namespace

Result<DiffSides> diff_sides(db::Store& store, std::string const& asked_a,
                             std::string const& asked_b) {
    DiffSides sides;
    OSORA_TRY(sides.a, side_of(store, asked_a));
    OSORA_TRY(sides.b, side_of(store, asked_b));
    std::set<std::string> seen;
    for (auto const* side : {&sides.a, &sides.b}) {
        for (auto const& run : *side) {
            auto const& record = run.summary.run;
            if (seen.insert(record.uuid).second) continue;
            return Error{Errc::invalid_input,
                         fmt::format("run {} ({}) is named twice", record.number, record.name)};
        }
    }
    return sides;
}

ReportPage diff_page(DiffSides const& sides, std::string const& asked_a,
                     std::string const& asked_b) {
    return diff_page(db::analysis::compare_runs(sides.a, sides.b), asked_a, asked_b,
                     {.a = figures_of(sides.a), .b = figures_of(sides.b)});
}

}  // namespace osora::cli
