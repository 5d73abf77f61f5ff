// Names first, then numbers.
#include "plan/buckets/clip_columns.hpp"

#include "base/text/nearest.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

// Names in other tools: used only in messages.
constexpr std::array<std::string_view, 12> kOtherPaths{
    "video", "video_path", "file_path", "filepath",  "file_name", "filename",
    "file",  "videos",     "clip",      "clip_path", "image",     "image_path"};
constexpr std::array<std::string_view, 8> kOtherTexts{
    "caption", "captions", "prompt", "prompts", "description", "caption_text", "cap", "title"};
constexpr std::array<std::string_view, 8> kNothing{"",     "nan", "none", "null",
                                                   "<na>", "n/a", "na",   "-"};

std::optional<std::size_t> place_of(std::vector<std::string> const& header, std::string_view name) {
    std::string const wanted = lower(trimmed(name));
    auto const found = std::ranges::find_if(
        header, [&](std::string const& each) { return lower(trimmed(each)) == wanted; });
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
}

template <std::size_t N>
std::string found_as(std::vector<std::string> const& header,
                     std::array<std::string_view, N> const& others) {
    for (std::string_view const other : others) {
        if (auto const place = place_of(header, other)) return header[*place];
    }
    return {};
}

Error refused(std::string why) {
    return {Errc::invalid_input, "line 1: " + std::move(why)};
}

Error not_there(std::string_view ours, std::string const& theirs,
                std::vector<std::string> const& header) {
    std::vector<std::string_view> const names(header.begin(), header.end());
    auto const nearest = nearest_name(theirs, names);
    return refused(
        fmt::format("[data] columns says that {} is \"{}\", and there is no such "
                    "column; it has: {}{}",
                    ours, theirs, fmt::join(header, ", "),
                    nearest ? fmt::format("; nearest: \"{}\"", *nearest) : ""));
}

Error no_path(std::vector<std::string> const& header) {
    std::string const other = found_as(header, kOtherPaths);
    std::string const text =
        place_of(header, "text") ? std::string() : found_as(header, kOtherTexts);
    std::string const hint = fmt::format("path = \"{}\"{}", other.empty() ? "..." : other,
                                         text.empty() ? "" : fmt::format(", text = \"{}\"", text));
    return refused(fmt::format(
        "no \"path\" column; the first line of a CSV, or the keys of JSON lines, must "
        "name the columns, it has: {}; [data] columns = {{ {} }} says which column it is",
        fmt::join(header, ", "), hint));
}

}  // namespace

Result<void> check_column_names(ColumnNames const& named) {
    for (auto const& [ours, theirs] : named) {
        if (std::ranges::find(kClipColumns, ours) == kClipColumns.end()) {
            return Error{Errc::invalid_input,
                         fmt::format("\"{}\" is no column of osora's; they are {}", ours,
                                     fmt::join(kClipColumns, ", "))};
        }
        if (ours == kClipColumns[ClipColumn::path] && theirs.empty()) {
            return Error{Errc::invalid_input, "a list of clips needs a path"};
        }
    }
    return {};
}

Result<ColumnNames> columns_of_words(std::vector<std::string> const& words) {
    ColumnNames named;
    for (std::string const& word : words) {
        auto const equals = word.find('=');
        if (equals == std::string::npos) {
            return Error{Errc::invalid_input,
                         fmt::format("--columns {}: expected NAME=COLUMN, as in path=video", word)};
        }
        auto const name = word.substr(0, equals);
        if (!named.emplace(name, word.substr(equals + 1)).second) {
            return Error{Errc::invalid_input,
                         fmt::format("--columns {}: {} is given twice", word, name)};
        }
    }
    if (auto const names = check_column_names(named); names.has_error())
        return Error(names.error()).in("--columns");
    return named;
}

Result<ColumnPlaces> find_columns(std::vector<std::string> const& header,
                                  ColumnNames const& named) {
    if (auto const names = check_column_names(named); names.has_error())
        return Error(names.error()).in("[data] columns");
    ColumnPlaces places;
    for (std::size_t i = 0; i < ClipColumn::count; ++i) {
        std::string const ours(kClipColumns[i]);
        auto const other = named.find(ours);
        std::string const& name = other == named.end() ? ours : other->second;
        if (name.empty()) continue;
        places[i] = place_of(header, name);
        if (!places[i] && other != named.end()) return not_there(ours, name, header);
        std::string const wanted = lower(trimmed(name));
        auto const times = std::ranges::count_if(
            header, [&](std::string const& each) { return lower(trimmed(each)) == wanted; });
        if (times > 1) return refused(fmt::format("column \"{}\" is given twice", name));
    }
    if (!places[ClipColumn::path]) return no_path(header);
    std::string const caption = found_as(header, kOtherTexts);
    if (!places[ClipColumn::text] && !named.contains("text") && !caption.empty()) {
        return refused(
            fmt::format("no \"text\" column, but \"{}\"; [data] columns = {{ text = "
                        "\"{}\" }} takes it for the captions, text = \"\" takes none",
                        caption, caption));
    }
    return places;
}

Result<double> listed_number(std::string_view column, std::string_view field, bool decimal_comma) {
    std::string text = lower(trimmed(field));
    if (std::ranges::find(kNothing, text) != kNothing.end()) return 0.0;
    if (decimal_comma) std::ranges::replace(text, ',', '.');
    auto const slash = text.find('/');  // ffprobe's rates
    auto const value = whole_number<double>(std::string_view(text).substr(0, slash));
    auto const under = slash == std::string::npos
                           ? std::optional<double>(1.0)
                           : whole_number<double>(std::string_view(text).substr(slash + 1));
    if (value && under && *value == 0) return 0.0;
    if (value && under && *under > 0 && *value > 0 && std::isfinite(*value / *under))
        return *value / *under;
    return Error{Errc::invalid_input,
                 fmt::format("{} \"{}\" is not a positive number", column, field)};
}

Result<int> listed_count(std::string_view column, std::string_view field, bool decimal_comma) {
    OSORA_TRY(double const value, listed_number(column, field, decimal_comma));
    if (value != std::floor(value) || value > 1e9) {
        return Error{Errc::invalid_input,
                     fmt::format("{} \"{}\" is not a whole number below 1e9", column, field)};
    }
    return static_cast<int>(value);
}

}  // namespace osora::plan
