// Rows of a CSV text (RFC 4180): quoted fields contain separators, doubled quotes and line ends; LF
// or CRLF. Pure; a broken quote costs the line where it is opened, not the rest of the file: a
// quoted field must be followed by a separator, a line end or blanks before one, or it is broken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora {

struct CsvRow {
    int line = 0;       // 1-based, where the row starts
    int last_line = 0;  // where it ends
    std::vector<std::string> fields;
    std::string fault;  // why the row cannot be read; empty: it was read
};

/// One field for writing, quoted where needed.
[[nodiscard]] std::string csv_field(std::string_view text);

/// The separator of the first line: the one of , ; tab | that occurs most often outside quotes, the
/// first of equally frequent ones; a comma when there is none.
[[nodiscard]] char csv_separator(std::string_view text);

class CsvReader {
public:
    /// Skips a byte order mark at the start, and Excel's line "sep=;".
    explicit CsvReader(std::string_view text, char separator = ',');

    /// The next row that is not blank; nullopt at the end.
    [[nodiscard]] std::optional<CsvRow> next();

    /// For a caller that knows that `row`, the last one, is really several rows: it becomes a
    /// fault, and next() continues after the line where it began.
    void reject(CsvRow& row, std::string why);

private:
    [[nodiscard]] CsvRow read_row();
    /// Appends one field; returns what is wrong with it, or "".
    [[nodiscard]] std::string_view read_field(std::string& field);
    [[nodiscard]] bool at_field_end() const;
    [[nodiscard]] bool at_line_end() const;
    void skip_line_end();

    std::string_view text_;
    char separator_;
    std::size_t at_ = 0;
    std::size_t row_at_ = 0;  // where the last row began
    int line_ = 1;
};

}  // namespace osora
