// A table in three formats: for a terminal, as Markdown, as CSV. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace osora::cli {

struct TableCell {
    std::string text;  // for people: rounded, "-" if unknown
    std::string raw;   // for CSV: all digits, no unit, empty if unknown
};

struct TableColumn {
    std::string title;  // "s/step (± MAD)"
    std::string key;    // CSV header: "step_s"; empty: not in CSV
    bool right = true;  // numbers are right-aligned
};

struct TextTable {
    std::vector<TableColumn> columns;
    std::vector<std::vector<TableCell>> rows;  // a cell for each column
};

/// Lines with a leading space, two spaces between columns, no trailing blanks.
[[nodiscard]] std::string draw_text(TextTable const& table);
/// GitHub's tables.
[[nodiscard]] std::string draw_markdown(TextTable const& table);
/// RFC 4180 with '\n', a header line first.
[[nodiscard]] std::string draw_csv(TextTable const& table);

/// Text escaped for Markdown, also inside a table.
[[nodiscard]] std::string markdown_text(std::string const& text);

/// Figures as cells; NaN is unknown. Times of a table share a unit, so the unit is chosen first.
struct TimeUnit {
    double per_second = 1;
    std::string name = "s";
};
[[nodiscard]] TimeUnit time_unit(std::vector<double> const& seconds);
/// Three digits in that unit, without its name.
[[nodiscard]] TableCell seconds_cell(double seconds, TimeUnit const& unit);
/// "412 ± 11"; the raw value is the median alone.
[[nodiscard]] TableCell spread_cell(double median_s, double mad_s, TimeUnit const& unit);
[[nodiscard]] TableCell percent_cell(double share);
[[nodiscard]] TableCell ratio_cell(double ratio);   // "0.98"
[[nodiscard]] TableCell number_cell(double value);  // three digits
[[nodiscard]] TableCell count_cell(std::int64_t count);
[[nodiscard]] TableCell text_cell(std::string const& text);

/// All digits of a double that matter; empty for NaN.
[[nodiscard]] std::string raw_number(double value);
/// "9.82", "98.2", "982", "12,345"; "-" for NaN.
[[nodiscard]] std::string three_digits(double value);

}  // namespace osora::cli
