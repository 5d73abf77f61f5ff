#include "cli/report/diff_text.hpp"

#include "base/text/text.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/report/diff_parts.hpp"
#include "cli/text/fact_text.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr std::size_t kItemsShown = 40;
constexpr int kKeyColumns = 26;
constexpr int kSideColumns = 19;

std::string more(std::string const& body) {
    return filled(printable(body), kLabelColumns, kColumns);
}

/// Each of them with an empty line before it.
std::string waterfall_text(Waterfall const& w, TimeUnit const& unit) {
    auto const table = waterfall_table(w, unit);
    if (table.rows.empty()) return {};
    std::string text = "\n" + draw_text(table);
    for (auto const& note : waterfall_notes(w)) text += filled(note, 1, kColumns);
    return text;
}

std::string stragglers_text(RunComparison const& found) {
    std::string text;
    for (auto const& line : diff_stragglers(found)) {
        text += text.empty() ? block("slow", line) : more(line);
    }
    return text;
}

std::string value_text(std::string const& value) {
    return value.empty() ? "(none)" : printable(plain_number(value));
}

/// "abcdefgh...": if values differ only after the visible part, cuts their beginnings instead.
std::pair<std::string, std::string> shortened(std::string const& a, std::string const& b) {
    if (display_width(a) <= kSideColumns && display_width(b) <= kSideColumns) return {a, b};
    auto const differ = std::ranges::mismatch(a, b);
    auto const same = static_cast<std::size_t>(differ.in1 - a.begin());
    std::size_t const from = same + 8 > kSideColumns ? same - std::min<std::size_t>(same, 4) : 0;
    auto const cut = [&](std::string const& value) {
        std::string text = from > 0 ? ".." + value.substr(std::min(from, value.size())) : value;
        if (display_width(text) <= kSideColumns) return text;
        return clipped(text, kSideColumns - 2) + "..";
    };
    return {cut(a), cut(b)};
}

std::string differences_text(std::vector<Difference> const& items) {
    if (items.empty()) return "\nnothing that is recorded differs\n";
    std::string text = fmt::format(
        "\n{} (A -> B)\n",
        items.size() == 1 ? "1 item differs" : fmt::format("{} items differ", items.size()));
    TextTable table;
    table.columns = {{"", "kind", false}, {"", "key", false}, {"", "a", false}, {"", "b", false}};
    for (std::size_t i = 0; i < items.size() && i < kItemsShown; ++i) {
        auto const& item = items[i];
        auto const [a, b] = shortened(value_text(item.a), value_text(item.b));
        auto const key = printable(item.key);
        bool const fits = display_width(key) <= kKeyColumns;
        table.rows.push_back({text_cell(item.kind),
                              text_cell(fits ? key : clipped(key, kKeyColumns - 2) + ".."),
                              text_cell(a), text_cell("-> " + b)});
    }
    auto const drawn = draw_text(table);
    text += drawn.substr(drawn.find('\n') + 1);
    if (items.size() > kItemsShown) {
        text += fmt::format(" and {} more: --json\n", items.size() - kItemsShown);
    }
    return text;
}

}  // namespace

std::string diff_text(RunComparison const& found, std::string const& asked_a,
                      std::string const& asked_b) {
    auto const unit = diff_unit(found);
    std::string text = block("A", diff_side(found.a, unit)) + block("B", diff_side(found.b, unit));
    text += "\n" + filled(diff_answer(found, unit), 0, kColumns);
    if (found.waterfall.enough()) {
        text += waterfall_text(found.waterfall, unit);
        auto const efficiency = efficiency_table(found);
        if (!efficiency.rows.empty()) text += "\n" + draw_text(efficiency);
        if (auto const slow = stragglers_text(found); !slow.empty()) text += "\n" + slow;
    }
    text += differences_text(found.differences);
    auto const next = diff_next(found, asked_a, asked_b);
    return next.empty() ? text : text + "next: " + next + "\n";
}

int diff_exit_code(RunComparison const& found) {
    switch (found.verdict) {
        case SpeedVerdict::same:
        case SpeedVerdict::faster:
            return kExitOk;
        case SpeedVerdict::slower:
            return kExitBad;
        case SpeedVerdict::undecided:
        case SpeedVerdict::other_work:
            break;
    }
    return kExitUndecided;
}

}  // namespace osora::cli
