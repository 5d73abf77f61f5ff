// What is escaped, and why: & < > " ' end text or an attribute; in a script block only "</" and
// "<!--" do, and U+2028 and U+2029 end lines for old JavaScript parsers.
#include "cli/text/html.hpp"

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

bool is_shown(TextTable const& table, std::size_t column) {
    if (!table.columns[column].title.empty()) return true;
    for (auto const& row : table.rows) {
        if (!row[column].text.empty()) return true;
    }
    return false;
}

std::string table_cell(TextTable const& table, std::size_t column, TableCell const& cell) {
    char const* const tag = column == 0 ? "th" : "td";
    std::string attributes = column == 0 ? " scope=\"row\"" : "";
    auto const& about = table.columns[column];
    if (about.right) attributes += " class=\"number\"";
    if (!about.key.empty()) attributes += fmt::format(" data-key=\"{}\"", html_text(about.key));
    attributes += fmt::format(" data-value=\"{}\"", html_text(cell.raw));
    return fmt::format("<{0}{1}>{2}</{0}>", tag, attributes, html_text(cell.text));
}

}  // namespace

std::string clean_text(std::string_view text) {
    std::string clean;
    clean.reserve(text.size());
    while (!text.empty()) {
        auto const code = first_code_point(text);
        if (code.bytes == 0 || hides_text(code.value)) {
            clean += "\uFFFD";
        } else {
            clean += text.substr(0, code.bytes);
        }
        text.remove_prefix(std::max<std::size_t>(code.bytes, 1));
    }
    return clean;
}

std::string html_text(std::string_view text) {
    std::string escaped;
    for (char const each : clean_text(text)) {
        switch (each) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                escaped += each;
        }
    }
    return escaped;
}

std::string html_table(TextTable const& table, std::string_view caption) {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (is_shown(table, i)) shown.push_back(i);
    }
    std::string text = fmt::format(
        "<div class=\"table\"><table>\n<caption>{}</caption>\n<thead><tr>", html_text(caption));
    for (auto const i : shown) {
        text += fmt::format("<th scope=\"col\"{}>{}</th>",
                            table.columns[i].right ? " class=\"number\"" : "",
                            html_text(table.columns[i].title));
    }
    text += "</tr></thead>\n<tbody>\n";
    for (auto const& row : table.rows) {
        text += "<tr>";
        for (auto const i : shown) text += table_cell(table, i, row[i]);
        text += "</tr>\n";
    }
    return text + "</tbody></table></div>\n";
}

std::string html_json(protocol::json::value const& value) {
    std::string escaped;
    for (char const each : protocol::json::serialize(value)) {
        if (each == '<' || each == '>' || each == '&') {
            escaped += fmt::format("\\u{:04x}", static_cast<int>(each));
        } else {
            escaped += each;
        }
    }
    return escaped;
}

}  // namespace osora::cli
