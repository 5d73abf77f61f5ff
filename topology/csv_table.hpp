// Private to topology/: a CSV text whose columns are found by name, in any order.
#pragma once

#include "base/result.hpp"
#include "base/text/csv.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology {

class CsvTable {
public:
    /// Reads the header; invalid_input names the first missing column of `required`.
    [[nodiscard]] static Result<CsvTable> open(std::string_view text,
                                               std::span<std::string_view const> required);

    /// Moves to the next row; false at the end. invalid_input: a row that cannot be read, or has
    /// another number of fields than the header.
    [[nodiscard]] Result<bool> next();
    [[nodiscard]] int line() const { return row_.line; }

    [[nodiscard]] bool has(std::string_view column) const { return columns_.contains(column); }
    /// Field of the current row; "" for a missing column.
    [[nodiscard]] std::string_view text(std::string_view column) const;
    /// All fields of the current row, as they are written.
    [[nodiscard]] std::vector<std::string> const& fields() const { return row_.fields; }
    /// invalid_input with line and column: not a number, not finite, or not in [min, max].
    [[nodiscard]] Result<double> number(std::string_view column, double min, double max) const;
    [[nodiscard]] Result<std::int64_t> integer(std::string_view column, std::int64_t min,
                                               std::int64_t max) const;
    /// An error of the current line.
    [[nodiscard]] Error error(std::string_view why) const;

private:
    explicit CsvTable(std::string_view text) : reader_(text) {}

    CsvReader reader_;
    CsvRow row_;
    std::map<std::string, std::size_t, std::less<>> columns_;
};

}  // namespace osora::topology
