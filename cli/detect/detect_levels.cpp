#include "cli/detect/detect_levels.hpp"

#include "base/robust.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis::changepoint;

constexpr std::size_t kLevelsShown = 20;

std::string p_text(double p) {
    if (std::isnan(p)) return "-";
    return p < 1e-4 ? "< 1e-4" : fmt::format("{:.2g}", p);
}

std::string level_text(double level, LevelWords const& words) {
    return seconds_cell(level, words.unit).text + words.unit_name;
}

TextTable level_table(std::vector<double> const& values, std::vector<ChangePoint> const& points,
                      LevelWords const& words) {
    std::vector<int> cuts;
    for (auto const& point : points) cuts.push_back(point.index);
    auto const parts = segments_between(cuts, static_cast<int>(values.size()));
    TextTable table;
    table.columns = {{words.places, words.places, false}, {"count", "count"},
                     {words.level + " ± MAD", "level"},   {"change", "change"},
                     {"begins at", "begins_at"},          {"p", "p"}};
    std::size_t const first = parts.size() > kLevelsShown ? parts.size() - kLevelsShown : 0;
    for (std::size_t i = first; i < parts.size(); ++i) {
        auto const from = values.begin() + parts[i].start, to = values.begin() + parts[i].stop;
        auto const spread = median_and_mad({from, to});
        std::vector<TableCell> row{text_cell(fmt::format("{}-{}", words.place(parts[i].start),
                                                         words.place(parts[i].stop - 1))),
                                   count_cell(parts[i].size()),
                                   spread_cell(spread.median, spread.mad, words.unit)};
        if (i == 0) {
            row.insert(row.end(), 3, text_cell(""));
        } else {
            auto const& point = points[i - 1];
            std::string place = words.place(point.lo);
            if (point.hi > point.lo) place += "-" + words.place(point.hi);
            row.push_back(text_cell(signed_percent(point.effect())));
            row.push_back(text_cell(place));
            row.push_back(text_cell(p_text(point.p)));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::string change_text(ChangePoint const& point, LevelWords const& words) {
    double const effect = point.effect();
    std::string const by =
        std::isfinite(effect)
            ? fmt::format("{:.1f} % {}", std::abs(100 * effect), effect > 0 ? "over" : "under")
            : "after";
    return fmt::format("{} from {} {} on, {} the {} before", level_text(point.after, words),
                       words.places == "runs" ? "run" : words.places, words.place(point.index), by,
                       level_text(point.before, words));
}

std::string noise_text(Segmentation const& robust) {
    std::string text = fmt::format("{:.1f} % of a level", 100 * robust.noise);
    if (robust.correlation >= 0.2) {
        text += fmt::format(
            "; neighbours are alike (correlation {:.2f}), so it takes more to be "
            "sure",
            robust.correlation);
    }
    return text;
}

std::string modes_text(Bimodality const& modes, LevelWords const& words) {
    return fmt::format(
        "values jump between {} and {} ({:.0f} % of them): find out what differs "
        "between those runs before trusting a change of level",
        level_text(modes.low, words), level_text(modes.high, words), 100 * modes.high_share);
}

/// Changes that are significant but too small to count.
std::string small_changes_text(Segmentation const& robust, LevelWords const& words) {
    constexpr std::size_t kShown = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, robust.small.size()); ++i) {
        auto const& point = robust.small[i];
        text += fmt::format("{}{} from {} {} on (p {})", text.empty() ? "" : ", ",
                            signed_percent(point.effect()),
                            words.places == "runs" ? "run" : words.places, words.place(point.index),
                            p_text(point.p));
    }
    if (robust.small.size() > kShown) {
        text += fmt::format(" and {} more", robust.small.size() - kShown);
    }
    double const percent = 100 * robust.min_effect;
    return fmt::format(
        "{}: surely there, but below --min-effect ({} %), so not counted", text,
        percent < 10 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent));
}

}  // namespace

std::string labelled(std::string_view label, std::string const& body) {
    std::string const lines = filled(printable(body), kDetectIndent, kDetectColumns);
    return fmt::format("{:<{}}{}", label, kDetectIndent, lines.substr(kDetectIndent));
}

std::string signed_percent(double effect) {
    if (!std::isfinite(effect)) return "from 0";
    return fmt::format("{:+.1f} %", 100 * effect);
}

std::string headline(Segmentation const& robust, SeriesVerdict const& verdict,
                     LevelWords const& words) {
    auto const change = [&] { return change_text(robust.points[*verdict.point], words); };
    switch (verdict.value) {
        case SeriesState::undecided:
            return "undecided: " + verdict.reason;
        case SeriesState::steady:
            return "no change: " + verdict.reason;
        case SeriesState::regressed:
            return "regression: " + change();
        case SeriesState::improved:
            return "improvement: " + change();
        case SeriesState::fixed:
            return fmt::format("no regression any more: {}; that one was {}", verdict.reason,
                               change());
    }
    return {};
}

std::string levels_text(std::vector<double> const& values, Segmentation const& robust,
                        LevelWords const& words) {
    std::string text = "\n" + draw_text(level_table(values, robust.points, words)) + "\n";
    if (robust.points.size() >= kLevelsShown) {
        text += labelled("levels", fmt::format("the newest {} of {}; --json has all", kLevelsShown,
                                               robust.points.size() + 1));
    }
    if (!robust.small.empty()) text += labelled("small", small_changes_text(robust, words));
    text += robust.modes ? labelled("bimodal", modes_text(*robust.modes, words))
                         : labelled("noise", noise_text(robust));
    return text;
}

}  // namespace osora::cli
