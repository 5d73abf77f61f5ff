// The rows of a list of clips in any format: a CSV with any usual separator, or JSON lines (one
// object per line, keys instead of columns). Pure.
#pragma once

#include "base/result.hpp"
#include "base/text/csv.hpp"
#include "plan/buckets/clip_columns.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

class ListReader {
public:
    /// `text` must outlive the reader. Errors: invalid_input if no row names the columns, or as
    /// find_columns().
    [[nodiscard]] static Result<ListReader> open(std::string_view text, ColumnNames const& named);

    /// The next row that is not blank; if it cannot be read, its fault says why.
    [[nodiscard]] std::optional<CsvRow> next();

    /// As CsvReader::reject().
    void reject(CsvRow& row, std::string why) { csv_.reject(row, std::move(why)); }

    [[nodiscard]] ColumnPlaces const& places() const { return places_; }
    [[nodiscard]] std::size_t width() const { return width_; }  // fields of a good row
    [[nodiscard]] char separator() const { return separator_; }

private:
    ListReader(std::string_view text, char separator)
        : csv_(text, separator), separator_(separator), rest_(text) {}
    Result<void> find_csv_columns(ColumnNames const& named);
    Result<void> find_keys(ColumnNames const& named);
    [[nodiscard]] std::optional<CsvRow> next_json();
    [[nodiscard]] std::optional<std::string_view> next_line();

    CsvReader csv_;
    char separator_;
    std::size_t width_ = 0;
    ColumnPlaces places_;

    bool json_ = false;
    std::string_view rest_;          // of JSON lines
    int line_ = 0;                   // of the last one
    std::vector<std::string> keys_;  // of the places
};

}  // namespace osora::plan
