// JSON lines become rows whose fields are the wanted keys.
#include "plan/buckets/list_reader.hpp"

#include "base/text/text.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <set>

namespace osora::plan {
namespace {

namespace json = boost::json;

constexpr std::string_view kMark = "\xEF\xBB\xBF";

bool is_json_lines(std::string_view text) {
    if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
    return trimmed(text.substr(0, 4096)).starts_with('{');
}

Result<json::object> object_of(std::string_view line) {
    boost::system::error_code failed;
    auto value = json::parse(line, failed);
    if (failed) return Error{Errc::invalid_input, "it is no JSON: " + failed.message()};
    if (!value.is_object())
        return Error{Errc::invalid_input, "it is no JSON object; one line is one clip"};
    return std::move(value.get_object());
}

/// The value as it would be in a CSV.
Result<std::string> field_of(std::string_view key, json::value const& value) {
    if (value.is_null()) return std::string();
    if (auto const* text = value.if_string()) return std::string(*text);
    if (value.is_number() && !value.is_double()) return json::serialize(value);
    if (auto const* number = value.if_double()) return fmt::format("{}", *number);
    return Error{Errc::invalid_input, fmt::format("\"{}\" is {}, not one text or number", key,
                                                  value.is_bool()    ? "true or false"
                                                  : value.is_array() ? "an array"
                                                                     : "an object")};
}

}  // namespace

Result<ListReader> ListReader::open(std::string_view text, ColumnNames const& named) {
    bool const lines = is_json_lines(text);
    ListReader reader(text, lines ? ',' : csv_separator(text));
    reader.json_ = lines;
    if (text.starts_with(kMark)) reader.rest_.remove_prefix(kMark.size());
    OSORA_TRY_VOID(lines ? reader.find_keys(named) : reader.find_csv_columns(named));
    return reader;
}

std::optional<CsvRow> ListReader::next() {
    return json_ ? next_json() : csv_.next();
}

Result<void> ListReader::find_csv_columns(ColumnNames const& named) {
    auto const header = csv_.next();
    if (!header) {
        return Error{Errc::invalid_input,
                     "it is empty; the first line must name the columns, "
                     "and \"path\" is one"};
    }
    if (!header->fault.empty()) return Error{Errc::invalid_input, "line 1: " + header->fault};
    OSORA_TRY(places_, find_columns(header->fields, named));
    width_ = header->fields.size();
    return {};
}

/// Keys of all lines count, because a clip without a caption may lack the key.
Result<void> ListReader::find_keys(ColumnNames const& named) {
    std::string_view const all = rest_;
    std::vector<std::string> names;  // in the order in which they come
    std::set<std::string, std::less<>> known;
    std::optional<Error> first;
    bool any = false;
    while (auto const line = next_line()) {
        auto const object = object_of(*line);
        if (object.has_error()) {
            if (!first) first = Error(object.error()).in(fmt::format("line {}", line_));
            continue;
        }
        any = true;
        for (auto const& each : *object)
            if (known.emplace(each.key()).second) names.emplace_back(each.key());
    }
    if (!any) return std::move(*first).in("it begins as JSON lines do, and has no such line");
    OSORA_TRY(auto const found, find_columns(names, named));
    keys_.resize(ClipColumn::count);
    for (std::size_t i = 0; i < ClipColumn::count; ++i) {
        if (!found[i]) continue;
        places_[i] = i;
        keys_[i] = names[*found[i]];
    }
    width_ = ClipColumn::count;
    rest_ = all;
    line_ = 0;
    return {};
}

std::optional<std::string_view> ListReader::next_line() {
    while (!rest_.empty()) {
        std::size_t const end = std::min(rest_.find('\n'), rest_.size());
        std::string_view const line = trimmed(rest_.substr(0, end));
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++line_;
        if (!line.empty()) return line;
    }
    return std::nullopt;
}

std::optional<CsvRow> ListReader::next_json() {
    auto const line = next_line();
    if (!line) return std::nullopt;
    CsvRow row{.line = line_, .last_line = line_, .fields = {}, .fault = {}};
    row.fields.resize(width_);
    auto const object = object_of(*line);
    if (object.has_error()) row.fault = object.error().message;
    for (std::size_t i = 0; object && i < width_ && row.fault.empty(); ++i) {
        auto const* value = places_[i] ? object->if_contains(keys_[i]) : nullptr;
        if (value == nullptr) continue;
        auto field = field_of(keys_[i], *value);
        if (field.has_error()) {
            row.fault = field.error().message;
        } else {
            row.fields[i] = std::move(*field);
        }
    }
    return row;
}

}  // namespace osora::plan
