#include "topology/csv_table.hpp"

#include "base/text/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

namespace osora::topology {

Result<CsvTable> CsvTable::open(std::string_view text, std::span<std::string_view const> required) {
    CsvTable table(text);
    auto header = table.reader_.next();
    if (!header) return Error{Errc::invalid_input, "empty: no header line"};
    if (!header->fault.empty()) return Error{Errc::invalid_input, "line 1: " + header->fault};
    for (std::size_t i = 0; i < header->fields.size(); ++i) {
        table.columns_.emplace(trimmed(header->fields[i]), i);
    }
    table.row_ = std::move(*header);
    for (std::string_view const column : required) {
        if (!table.columns_.contains(column)) {
            return Error{Errc::invalid_input, fmt::format("line 1: no column '{}'", column)};
        }
    }
    return table;
}

Result<bool> CsvTable::next() {
    auto row = reader_.next();
    if (!row) return false;
    std::size_t const expected = columns_.size();
    row_ = std::move(*row);
    if (!row_.fault.empty()) return error(row_.fault);
    if (row_.fields.size() < expected) {
        return error(fmt::format("{} fields, the header has {}", row_.fields.size(), expected));
    }
    return true;
}

std::string_view CsvTable::text(std::string_view column) const {
    auto const found = columns_.find(column);
    if (found == columns_.end() || found->second >= row_.fields.size()) return {};
    return trimmed(row_.fields[found->second]);
}

Result<double> CsvTable::number(std::string_view column, double min, double max) const {
    std::string_view const value = text(column);
    double number = 0;
    auto const [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code != std::errc() || end != value.data() + value.size() || !std::isfinite(number)) {
        return error(fmt::format("{} = '{:.40}': not a number", column, value));
    }
    if (number < min || number > max) {
        return error(fmt::format("{} = {:.40}: not in {:g} to {:g}", column, value, min, max));
    }
    return number;
}

Result<std::int64_t> CsvTable::integer(std::string_view column, std::int64_t min,
                                       std::int64_t max) const {
    OSORA_TRY(double const value,
              number(column, static_cast<double>(min), static_cast<double>(max)));
    if (value != std::floor(value)) {
        return error(fmt::format("{} = {:.40}: not a whole number", column, text(column)));
    }
    return static_cast<std::int64_t>(value);
}

Error CsvTable::error(std::string_view why) const {
    return Error{Errc::invalid_input, fmt::format("line {}: {}", row_.line, why)};
}

}  // namespace osora::topology
