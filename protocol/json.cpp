#include "protocol/json.hpp"

#include "base/text/utf8.hpp"

#include <boost/beast/core/detail/base64.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace osora::protocol {
namespace {

namespace base64 = boost::beast::detail::base64;

char const* kind_name(json::kind kind) {
    switch (kind) {
        case json::kind::null:
            return "null";
        case json::kind::bool_:
            return "a boolean";
        case json::kind::int64:
        case json::kind::uint64:
            return "an integer";
        case json::kind::double_:
            return "a number";
        case json::kind::string:
            return "a string";
        case json::kind::array:
            return "an array";
        case json::kind::object:
            return "an object";
    }
    return "?";
}

}  // namespace

json::value bytes_to_json(std::string_view bytes) {
    if (is_utf8(bytes)) return json::string(bytes);
    std::string text(base64::encoded_size(bytes.size()), '\0');
    text.resize(base64::encode(text.data(), bytes.data(), bytes.size()));
    return json::object{{"base64", text}};
}

Result<std::string> bytes_from_json(json::value const& value) {
    if (auto const* text = value.if_string()) return std::string(*text);
    auto const* object = value.if_object();
    auto const* encoded = object != nullptr ? object->if_contains("base64") : nullptr;
    if (encoded == nullptr || !encoded->is_string()) {
        return type_error("a string or {\"base64\": ...}", value);
    }
    auto const& text = encoded->get_string();
    // Beast decodes only whole groups of four characters, and also decodes what follows the last
    // one.
    std::string bytes(base64::decoded_size(text.size() + 3), '\0');
    auto const [written, read] = base64::decode(bytes.data(), text.data(), text.size());
    if (text.find_first_not_of('=', read) != json::string::npos) {
        return Error{Errc::invalid_input, "not base64 at offset " + std::to_string(read)};
    }
    bytes.resize(written);
    return bytes;
}

namespace {

/// 1e999 reads as infinity, which JSON cannot express: it would spoil the next file that it is
/// written to.
bool is_finite(json::value const& value) {
    if (auto const* number = value.if_double()) return std::isfinite(*number);
    if (auto const* array = value.if_array()) return std::ranges::all_of(*array, is_finite);
    if (auto const* object = value.if_object()) {
        return std::ranges::all_of(*object,
                                   [](auto const& each) { return is_finite(each.value()); });
    }
    return true;
}

}  // namespace

Result<json::value> parse_json(std::string_view text) {
    json::parse_options options;
    options.max_depth = 64;
    boost::system::error_code error;
    json::stream_parser parser({}, options);
    std::size_t const used = parser.write_some(text.data(), text.size(), error);
    if (!error && used < text.size()) {
        auto const rest = text.find_first_not_of(" \t\r\n", used);
        if (rest != std::string_view::npos) {
            return Error{Errc::invalid_input,
                         "JSON: more text after the value at offset " + std::to_string(rest)};
        }
    }
    if (!error) parser.finish(error);
    if (error) {
        return Error{Errc::invalid_input,
                     "JSON: " + error.message() + " near offset " + std::to_string(used)};
    }
    auto value = parser.release();
    if (!is_finite(value)) return Error{Errc::invalid_input, "JSON: a number is out of range"};
    return value;
}

Error type_error(std::string_view expected, json::value const& found) {
    return {Errc::invalid_input,
            ": expected " + std::string(expected) + ", found " + kind_name(found.kind())};
}

json::value const* find_member(json::object const& object, std::string_view name) {
    // Journals of earlier versions have the name on the right.
    using Renamed = std::pair<std::string_view, std::string_view>;
    static constexpr std::array kRenamed{Renamed{"attempt", "epoch"},
                                         Renamed{"incarnation", "life"},
                                         Renamed{"reported_by", "told_by"}};
    if (auto const* found = object.if_contains(name)) return found;
    auto const* const renamed = std::ranges::find(kRenamed, name, &Renamed::first);
    return renamed == kRenamed.end() ? nullptr : object.if_contains(renamed->second);
}

Error at_path(std::string_view step, Error inner) {
    bool const starts_path = !inner.message.starts_with(':') && !inner.message.starts_with('[');
    if (step.empty()) {
        if (inner.message.starts_with(": ")) inner.message.erase(0, 2);
        return inner;
    }
    inner.message.insert(0, std::string(step) + (starts_path ? "." : ""));
    return inner;
}

}  // namespace osora::protocol
