// Structs that carry BOOST_DESCRIBE_STRUCT to and from JSON. A missing field takes its default and
// an unknown one is ignored, so that neighbouring versions understand each other; types and ranges
// are checked strictly. Errors name the path: "buckets[1].num_frames: ...".
#pragma once

#include "base/auto_or.hpp"
#include "base/result.hpp"

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace osora::protocol {

namespace json = boost::json;

/// Text that need not be UTF-8 (environment, arguments): a string, or {"base64": "..."}.
struct Bytes {
    std::string value;
    friend bool operator==(Bytes const&, Bytes const&) = default;
};

[[nodiscard]] json::value bytes_to_json(std::string_view bytes);
[[nodiscard]] Result<std::string> bytes_from_json(json::value const& value);
/// Parses one document; invalid_input names the offset. Depth is limited to 64.
[[nodiscard]] Result<json::value> parse_json(std::string_view text);
/// ": expected T, found KIND" for a value of another kind.
[[nodiscard]] Error type_error(std::string_view expected, json::value const& found);
/// Prefixes `step` ("name" or "[2]") to the path that an inner error starts with.
[[nodiscard]] Error at_path(std::string_view step, Error inner);
/// The value of a struct's member, also under its former name; nullptr: absent.
[[nodiscard]] json::value const* find_member(json::object const& object, std::string_view name);

template <class T>
concept DescribedStruct = boost::describe::has_describe_members<T>::value && !std::is_union_v<T>;
template <class T>
concept DescribedEnum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;
template <class T, template <class...> class Template>
inline constexpr bool is_specialization_of = false;
template <template <class...> class Template, class... A>
inline constexpr bool is_specialization_of<Template<A...>, Template> = true;

template <class T>
json::value to_json(T const& value);
template <class T>
Result<void> read_json(json::value const& from, T& into);

template <DescribedStruct T>
json::object object_to_json(T const& value) {
    json::object object;
    using Members = boost::describe::describe_members<T, boost::describe::mod_any_access>;
    boost::mp11::mp_for_each<Members>(
        [&](auto member) { object[member.name] = to_json(value.*member.pointer); });
    return object;
}

/// Numbers that JSON cannot hold (NaN, infinities) become null, and null reads back as NaN.
template <class T>
json::value to_json(T const& value) {
    if constexpr (std::same_as<T, Bytes>) {
        return bytes_to_json(value.value);
    } else if constexpr (std::same_as<T, bool> || std::same_as<T, json::value>) {
        return value;
    } else if constexpr (std::unsigned_integral<T>) {
        return static_cast<std::uint64_t>(value);
    } else if constexpr (std::integral<T>) {
        return static_cast<std::int64_t>(value);
    } else if constexpr (std::floating_point<T>) {
        return std::isfinite(value) ? json::value(static_cast<double>(value)) : json::value();
    } else if constexpr (std::convertible_to<T, std::string_view>) {
        return json::string(std::string_view(value));
    } else if constexpr (DescribedEnum<T>) {
        return json::string(boost::describe::enum_to_string(value, "?"));
    } else if constexpr (is_specialization_of<T, AutoOr>) {
        return value.value ? to_json(*value.value) : json::value("auto");
    } else if constexpr (is_specialization_of<T, std::optional>) {
        return value ? to_json(*value) : json::value();
    } else if constexpr (is_specialization_of<T, std::vector>) {
        json::array array;
        array.reserve(value.size());
        for (auto const& each : value) array.push_back(to_json(each));
        return array;
    } else if constexpr (is_specialization_of<T, std::map>) {
        json::object object;
        for (auto const& [key, each] : value) object[key] = to_json(each);
        return object;
    } else {
        return object_to_json(value);
    }
}

template <std::integral T>
Result<void> read_integer(json::value const& from, T& into) {
    if (from.is_uint64() || from.is_int64()) {
        boost::system::error_code error;
        T const number = from.to_number<T>(error);
        if (!error) {
            into = number;
            return {};
        }
        return Error{Errc::invalid_input, ": number out of range: " + json::serialize(from)};
    }
    return type_error("an integer", from);
}

template <class T>
Result<void> read_struct(json::value const& from, T& into) {
    auto const* object = from.if_object();
    if (object == nullptr) return type_error("an object", from);
    Result<void> result;
    using Members = boost::describe::describe_members<T, boost::describe::mod_any_access>;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        auto const* found = find_member(*object, member.name);
        if (found == nullptr || result.has_error()) return;
        auto const read = read_json(*found, into.*member.pointer);
        if (read.has_error()) result = at_path(member.name, read.error());
    });
    return result;
}

template <class T>
Result<void> read_array(json::value const& from, std::vector<T>& into) {
    auto const* array = from.if_array();
    if (array == nullptr) return type_error("an array", from);
    into.clear();
    for (std::size_t i = 0; i < array->size(); ++i) {
        T each{};
        if (auto const read = read_json((*array)[i], each); read.has_error()) {
            return at_path("[" + std::to_string(i) + "]", read.error());
        }
        into.push_back(std::move(each));
    }
    return {};
}

template <class T>
Result<void> read_map(json::value const& from, std::map<std::string, T>& into) {
    auto const* object = from.if_object();
    if (object == nullptr) return type_error("an object", from);
    into.clear();
    for (auto const& [key, value] : *object) {
        if (auto const read = read_json(value, into[std::string(key)]); read.has_error()) {
            return at_path(key, read.error());
        }
    }
    return {};
}

template <class T>
Result<void> read_json(json::value const& from, T& into) {
    if constexpr (std::same_as<T, Bytes>) {
        OSORA_TRY(into.value, bytes_from_json(from));
        return {};
    } else if constexpr (std::same_as<T, json::value>) {
        into = from;
        return {};
    } else if constexpr (std::same_as<T, bool>) {
        if (!from.is_bool()) return type_error("true or false", from);
        into = from.get_bool();
        return {};
    } else if constexpr (std::integral<T>) {
        return read_integer(from, into);
    } else if constexpr (std::floating_point<T>) {
        if (from.is_null()) {
            into = std::numeric_limits<T>::quiet_NaN();
            return {};
        }
        if (!from.is_number()) return type_error("a number", from);
        into = from.to_number<T>();
        return {};
    } else if constexpr (std::same_as<T, std::string>) {
        if (!from.is_string()) return type_error("a string", from);
        into = std::string(from.get_string());
        return {};
    } else if constexpr (DescribedEnum<T>) {
        if (!from.is_string()) return type_error("a name", from);
        std::string const name(from.get_string());
        if (boost::describe::enum_from_string(name.c_str(), into)) return {};
        return Error{Errc::invalid_input, ": unknown name '" + name + "'"};
    } else if constexpr (is_specialization_of<T, AutoOr>) {
        if (from.is_string() && from.get_string() == "auto") {
            into.value.reset();
            return {};
        }
        return read_json(from, into.value.emplace());
    } else if constexpr (is_specialization_of<T, std::optional>) {
        if (from.is_null()) {
            into.reset();
            return {};
        }
        return read_json(from, into.emplace());
    } else if constexpr (is_specialization_of<T, std::vector>) {
        return read_array(from, into);
    } else if constexpr (is_specialization_of<T, std::map>) {
        return read_map(from, into);
    } else {
        return read_struct(from, into);
    }
}

/// Reads a T from `value`; the error's path starts below T.
template <class T>
[[nodiscard]] Result<T> from_json(json::value const& value) {
    T result{};
    auto const read = read_json(value, result);
    if (read.has_error()) return at_path("", read.error());
    return result;
}

template <class T>
[[nodiscard]] Result<T> decode(std::string_view text) {
    OSORA_TRY(auto value, parse_json(text));
    return from_json<T>(value);
}

template <class T>
[[nodiscard]] std::string encode(T const& value) {
    return json::serialize(to_json(value));
}

}  // namespace osora::protocol
