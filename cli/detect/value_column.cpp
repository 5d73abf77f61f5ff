#include "cli/detect/value_column.hpp"

#include "base/text/csv.hpp"
#include "base/text/nearest.hpp"
#include "base/text/text.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace osora::cli {
namespace {

constexpr std::size_t kValuesMax = 100'000;
constexpr double kValueMax = 1e100;  // keeps sums of squares finite
constexpr std::size_t kNamesShown = 12;
constexpr int kNamesColumns = 120;

Error at_line(int line, std::string const& message) {
    return {Errc::invalid_input, fmt::format("line {}: {}", line, message)};
}

/// A field's text, for an error message.
std::string shown_field(std::string_view field) {
    return fmt::format("'{:.40}'", printable(field));
}

/// Returns the value, or sets `fault` to why the field has none.
std::optional<double> number_of(std::string_view field, std::string& fault) {
    std::string_view digits = field;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    double value = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (field.empty()) {
        fault = "the field is empty";
    } else if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) {
        fault = shown_field(field) + " is no number";
    } else if (error == std::errc::result_out_of_range || !(std::abs(value) <= kValueMax)) {
        fault = fmt::format("{} is not a number between -{:g} and {:g}", shown_field(field),
                            kValueMax, kValueMax);
    } else {
        return value;
    }
    return std::nullopt;
}

/// Whether the field is a header: "7,3s" or "nan" in the first row is a malformed value instead.
bool looks_like_name(std::string const& field) {
    std::string fault;
    if (field.empty() || field.find_first_of("0123456789+-.") == 0) return false;
    return !number_of(field, fault) && fault.ends_with("no number");
}

std::string names_text(std::vector<std::string> const& names) {
    auto const count = std::min(names.size(), kNamesShown);
    std::string const more = names.size() > count ? ", ..." : "";
    auto const last = names.begin() + static_cast<std::ptrdiff_t>(count);
    std::string const list = fmt::format("{}{}", fmt::join(names.begin(), last, ", "), more);
    return clipped(printable(list), kNamesColumns);
}

Result<std::size_t> column_index(std::vector<std::string> const& first,
                                 std::optional<std::string> const& column) {
    if (!column) {
        if (first.size() == 1) return std::size_t{0};
        return Error{Errc::invalid_input,
                     fmt::format("{} columns ({}): say which with --column NAME or a number from 1",
                                 first.size(), names_text(first))};
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (looks_like_name(first[i]) && first[i] == *column) return i;
    }
    std::size_t number = 0;
    auto const [end, error] =
        std::from_chars(column->data(), column->data() + column->size(), number);
    bool const is_number = error == std::errc{} && end == column->data() + column->size();
    if (is_number && number >= 1 && number <= first.size()) return number - 1;
    if (is_number) {
        return Error{Errc::invalid_input,
                     fmt::format("--column {}: there {} 1 to {}", *column,
                                 first.size() == 1 ? "is column" : "are columns", first.size())};
    }
    std::vector<std::string_view> const names(first.begin(), first.end());
    auto const near = nearest_name(*column, names);
    return Error{Errc::invalid_input,
                 fmt::format("--column {}: no such column{}", printable(*column),
                             near ? fmt::format("; did you mean {}?", printable(*near))
                                  : fmt::format("; there are {}", names_text(first)))};
}

Result<CsvRow> sound(CsvRow row) {
    if (!row.fault.empty()) return at_line(row.line, row.fault);
    for (auto& field : row.fields) field = std::string(trimmed(field));
    return row;
}

/// A comma, unless the first two lines are split by another one. A '|' in a header alone is text.
char separator_of(std::string_view text) {
    char const separator = csv_separator(text);
    auto const end = std::min(text.find('\n'), text.size());
    std::string_view const rest = text.substr(std::min(end + 1, text.size()));
    bool const splits = rest.substr(0, rest.find('\n')).find(separator) != std::string_view::npos;
    return splits ? separator : ',';
}

/// "1,0129" is 1.0129 in a file that commas do not split: Excel writes both in many locales.
std::string with_decimal_point(std::string const& field, char separator) {
    bool const decimal = separator != ',' && std::ranges::count(field, ',') == 1 &&
                         field.find('.') == std::string::npos;
    if (!decimal) return field;
    std::string number = field;
    number[number.find(',')] = '.';
    return number;
}

}  // namespace

Result<std::vector<double>> read_value_column(std::string_view text,
                                              std::optional<std::string> const& column) {
    char const separator = separator_of(text);
    CsvReader reader(text, separator);
    std::vector<double> values;
    std::optional<std::size_t> at;
    std::size_t columns = 0;
    while (auto next = reader.next()) {
        OSORA_TRY(CsvRow const row, sound(std::move(*next)));
        auto const& fields = row.fields;
        if (fields.size() == 1 && fields[0].empty()) continue;
        if (!at) {
            OSORA_TRY(at, column_index(fields, column));
            columns = fields.size();
            if (looks_like_name(fields[*at])) continue;  // the header
        }
        if (fields.size() != columns) {
            return at_line(row.line,
                           fmt::format("{} columns, not {} as above", fields.size(), columns));
        }
        std::string fault;
        auto const value = number_of(with_decimal_point(fields[*at], separator), fault);
        if (!value) return at_line(row.line, fault);
        values.push_back(*value);
        if (values.size() > kValuesMax) return at_line(row.line, "more than 100,000 values");
    }
    return values;
}

Result<double> parse_share(std::string_view option, std::string const& text) {
    std::string digits(trimmed(text));
    bool const percent = digits.ends_with('%');
    if (percent) digits.pop_back();
    std::string fault;
    auto const value = number_of(trimmed(digits), fault);
    if (!value) return Error{Errc::invalid_input, fmt::format("{}: {}", option, fault)};
    return percent ? *value / 100 : *value;
}

}  // namespace osora::cli
