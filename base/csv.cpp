// CSV as a scanner over the text.
#include "base/csv.hpp"

#include <algorithm>

namespace osora {

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (char const each : text) quoted += each == '"' ? std::string("\"\"") : std::string(1, each);
    return quoted + "\"";
}

CsvReader::CsvReader(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

bool CsvReader::at_line_end() const {
    return text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n");
}

void CsvReader::skip_line_end() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
}

bool CsvReader::read_field(std::string& field) {
    bool const quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) {
        ++at_;
        for (;;) {
            if (at_ >= text_.size()) return false;
            char const c = text_[at_++];
            if (c == '\n') ++line_;
            if (c != '"') {
                field += c;
            } else if (at_ < text_.size() && text_[at_] == '"') {
                field += '"';
                ++at_;
            } else {
                break;
            }
        }
    }
    // What follows a closing quote belongs to the field, as in every lenient reader.
    while (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) field += text_[at_++];
    return true;
}

CsvRow CsvReader::read_row() {
    CsvRow row{.line = line_, .fields = {}, .fault = {}};
    std::size_t const start = at_;
    for (;;) {
        row.fields.emplace_back();
        if (!read_field(row.fields.back())) {
            row.fault = "a quote is opened and never closed";
            // Go on behind the line where the row began.
            at_ = std::min(text_.find('\n', start), text_.size() - 1) + 1;
            line_ = row.line + 1;
            return row;
        }
        if (at_ >= text_.size()) return row;
        if (text_[at_] != ',') {
            skip_line_end();
            return row;
        }
        ++at_;
    }
}

std::optional<CsvRow> CsvReader::next() {
    while (at_ < text_.size()) {
        CsvRow row = read_row();
        bool const blank = row.fault.empty() && row.fields.size() == 1 && row.fields[0].empty();
        if (!blank) return row;
    }
    return std::nullopt;
}

}  // namespace osora
