// CSV as a scanner over the text.
#include "base/text/csv.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace osora {

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (char const each : text) quoted += each == '"' ? std::string("\"\"") : std::string(1, each);
    return quoted + "\"";
}

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kExcelHint = "sep=";

/// The separator of Excel's first line "sep=;", or 0.
char named_separator(std::string_view text) {
    bool const is_hint = text.starts_with(kExcelHint) && text.size() > kExcelHint.size() + 1;
    if (!is_hint) return 0;
    char const behind = text[kExcelHint.size() + 1];
    return behind == '\n' || behind == '\r' ? text[kExcelHint.size()] : '\0';
}

}  // namespace

char csv_separator(std::string_view text) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (char const named = named_separator(text); named != 0) return named;
    constexpr std::string_view kSeparators = ",;\t|";
    std::array<std::size_t, kSeparators.size()> found{};
    bool quoted = false;
    for (char const c : text) {
        if (c == '\n' && !quoted) break;
        if (c == '"') quoted = !quoted;
        auto const place = quoted ? std::string_view::npos : kSeparators.find(c);
        if (place != std::string_view::npos) ++found[place];
    }
    auto const most = std::ranges::max_element(found);
    return kSeparators[static_cast<std::size_t>(most - found.begin())];
}

CsvReader::CsvReader(std::string_view text, char separator) : text_(text), separator_(separator) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    if (named_separator(text_.substr(at_)) == 0) return;
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    ++line_;
}

bool CsvReader::at_line_end() const {
    return text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n");
}

void CsvReader::skip_line_end() {
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
}

bool CsvReader::at_field_end() const {
    return at_ >= text_.size() || text_[at_] == separator_ || at_line_end();
}

std::string_view CsvReader::read_field(std::string& field) {
    bool const quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) {
        ++at_;
        for (;;) {
            if (at_ >= text_.size()) return "a quote is opened and never closed";
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
        while (!at_field_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
        if (!at_field_end()) return "a quote is opened and not closed before the next one";
    }
    while (!at_field_end()) field += text_[at_++];
    return "";
}

void CsvReader::reject(CsvRow& row, std::string why) {
    row.fault = std::move(why);
    at_ = std::min(text_.find('\n', row_at_), text_.size() - 1) + 1;
    line_ = row.line + 1;
    row.last_line = row.line;
}

CsvRow CsvReader::read_row() {
    CsvRow row{.line = line_, .last_line = line_, .fields = {}, .fault = {}};
    row_at_ = at_;
    for (;;) {
        row.fields.emplace_back();
        auto const fault = read_field(row.fields.back());
        if (!fault.empty()) {
            reject(row, std::string(fault));
            return row;
        }
        row.last_line = line_;
        if (at_ >= text_.size()) return row;
        if (text_[at_] != separator_) {
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
