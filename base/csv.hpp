// Rows of a CSV text (RFC 4180): quoted fields hold separators, doubled quotes and line ends; LF or
// CRLF. Pure; a broken quote costs one line, not the rest of the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora {

struct CsvRow {
    int line = 0;  // 1-based, where the row starts
    std::vector<std::string> fields;
    std::string fault;  // why the row cannot be read; empty: it can
};

/// One field to write, quoted when it must be.
[[nodiscard]] std::string csv_field(std::string_view text);

class CsvReader {
public:
    /// A byte order mark in front is skipped.
    explicit CsvReader(std::string_view text);

    /// The next row that is not blank; nullopt at the end.
    [[nodiscard]] std::optional<CsvRow> next();

private:
    [[nodiscard]] CsvRow read_row();
    /// Appends one field; false: a quote that is never closed.
    [[nodiscard]] bool read_field(std::string& field);
    [[nodiscard]] bool at_line_end() const;
    void skip_line_end();

    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
};

}  // namespace osora
