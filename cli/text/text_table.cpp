// Widths are counted in code points, so "±" takes one column.
#include "cli/text/text_table.hpp"

#include "base/text/csv.hpp"
#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

std::string padded(std::string const& text, int width, bool right) {
    std::string const blanks(static_cast<std::size_t>(std::max(0, width - display_width(text))),
                             ' ');
    return right ? blanks + text : text + blanks;
}

std::vector<int> widths_of(TextTable const& table) {
    std::vector<int> widths;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        int width = display_width(table.columns[i].title);
        for (auto const& row : table.rows) width = std::max(width, display_width(row[i].text));
        widths.push_back(width);
    }
    return widths;
}

void append_line(std::string& text, std::vector<std::string> const& cells) {
    std::string line;
    for (auto const& cell : cells) line += (line.empty() ? " " : "  ") + cell;
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
}

int decimals_of(double value) {
    double const size = std::abs(value);
    return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
}

}  // namespace

std::string draw_text(TextTable const& table) {
    auto const widths = widths_of(table);
    std::string text;
    auto const line = [&](auto text_of) {
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (widths[i] == 0) continue;  // only in CSV
            cells.push_back(padded(text_of(i), widths[i], table.columns[i].right));
        }
        append_line(text, cells);
    };
    line([&](std::size_t i) { return table.columns[i].title; });
    for (auto const& row : table.rows) line([&](std::size_t i) { return row[i].text; });
    return text;
}

std::string draw_markdown(TextTable const& table) {
    auto const widths = widths_of(table);
    std::string text = "|", rule = "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (widths[i] == 0) continue;
        text += " " + markdown_text(table.columns[i].title) + " |";
        rule += table.columns[i].right ? "---:|" : "---|";
    }
    text += "\n" + rule + "\n";
    for (auto const& row : table.rows) {
        text += "|";
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (widths[i] > 0) text += " " + markdown_text(row[i].text) + " |";
        }
        text += "\n";
    }
    return text;
}

std::string draw_csv(TextTable const& table) {
    std::string text;
    auto const line = [&](auto cell_of) {
        std::string joined;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (table.columns[i].key.empty()) continue;
            joined += (joined.empty() ? "" : ",") + csv_field(cell_of(i));
        }
        text += joined + "\n";
    };
    line([&](std::size_t i) { return table.columns[i].key; });
    for (auto const& row : table.rows) line([&](std::size_t i) { return row[i].raw; });
    return text;
}

std::string markdown_text(std::string const& text) {
    std::string escaped;
    for (char const each : printable(text)) {
        if (std::string_view("|*_`<>[]\\").find(each) != std::string_view::npos) escaped += '\\';
        escaped += each;
    }
    return escaped;
}

TimeUnit time_unit(std::vector<double> const& seconds) {
    double largest = 0;
    for (double const value : seconds) largest = std::fmax(largest, value);
    return largest < 0.9995 ? TimeUnit{1e3, "ms"} : TimeUnit{};
}

TableCell seconds_cell(double seconds, TimeUnit const& unit) {
    return {three_digits(seconds * unit.per_second), raw_number(seconds)};
}

TableCell spread_cell(double median_s, double mad_s, TimeUnit const& unit) {
    double const median = median_s * unit.per_second, mad = mad_s * unit.per_second;
    if (std::isnan(median)) return {"-", ""};
    int decimals = decimals_of(median);
    if (mad > 0 && mad < 0.5 * std::pow(10, -decimals)) ++decimals;  // not "± 0.00"
    return {fmt::format("{:.{}f} ± {:.{}f}", median, decimals, mad, decimals),
            raw_number(median_s)};
}

TableCell percent_cell(double share) {
    if (std::isnan(share)) return {"-", ""};
    // Rounded first: -0.01 % is "0 %", not "-0 %".
    return {fmt::format("{:.0f} %", std::round(100 * share) + 0.0), raw_number(share)};
}

TableCell ratio_cell(double ratio) {
    if (std::isnan(ratio)) return {"-", ""};
    return {fmt::format("{:.2f}", ratio), raw_number(ratio)};
}

TableCell number_cell(double value) {
    return {three_digits(value), raw_number(value)};
}

TableCell count_cell(std::int64_t count) {
    return {format_count(count), std::to_string(count)};
}

TableCell text_cell(std::string const& text) {
    return {printable(text), text};
}

std::string raw_number(double value) {
    return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

std::string three_digits(double value) {
    if (std::isnan(value)) return "-";
    constexpr double kGroupedMax = 1e15;  // beyond, all digits say less; std::int64_t ends at 9e18
    if (!(std::abs(value) < kGroupedMax)) return fmt::format("{:.3g}", value);
    if (std::abs(value) >= 999.5) return format_count(std::llround(value));
    return fmt::format("{:.{}f}", value, decimals_of(value));
}

}  // namespace osora::cli
