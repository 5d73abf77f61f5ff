// The walk, and values as TOML text.
#include "plan/config/fields.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <boost/mp11.hpp>

#include <algorithm>
#include <type_traits>

namespace osora::plan {
namespace {

SchemaRow const* row_of_member(std::string_view section, std::string_view member) {
    for (SchemaRow const& row : schema_rows()) {
        if (row.section == section && (row.member.empty() ? row.key : row.member) == member) {
            return &row;
        }
    }
    return nullptr;
}

template <class Section>
void collect(std::string_view name, Section& section, std::vector<Field>& fields) {
    using Members = boost::describe::describe_members<Section, boost::describe::mod_public>;
    boost::mp11::mp_for_each<Members>([&](auto member) {
        auto const* row = row_of_member(name, member.name);
        OSORA_CHECK(row != nullptr, "a member of RunConfig without a row in schema.cpp");
        fields.push_back({row, &(section.*member.pointer)});
    });
}

template <class T>
std::string to_toml(T const& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string>) {
        return toml_string(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        std::string const text = fmt::format("{}", value);
        return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    } else {
        return std::to_string(value);
    }
}

std::string list(std::vector<std::string> const& values) {
    std::string text;
    for (auto const& each : values) text += (text.empty() ? "" : ", ") + toml_string(each);
    return "[" + text + "]";
}

std::string to_toml(ArgumentLists const& values) {
    std::string text;
    for (auto const& each : values) text += (text.empty() ? "" : ", ") + list(each);
    return "[" + text + "]";
}

std::string to_toml(StringMap const& values) {
    std::string text;
    for (auto const& [key, each] : values) {
        text += (text.empty() ? " " : ", ") + toml_key(key) + " = " + toml_string(each);
    }
    return text.empty() ? "{}" : "{" + text + " }";
}

std::string to_toml(NumberMap const& values) {
    std::string text;
    for (auto const& [key, each] : values) {
        text += (text.empty() ? " " : ", ") + toml_key(key) + " = " + to_toml(each);
    }
    return text.empty() ? "{}" : "{" + text + " }";
}

std::string to_toml(std::vector<std::string> const& values) {
    return list(values);
}

}  // namespace

std::vector<Field> fields_of(RunConfig& config) {
    std::vector<Field> fields;
    using Sections = boost::describe::describe_members<RunConfig, boost::describe::mod_public>;
    boost::mp11::mp_for_each<Sections>([&](auto section) {
        using Section = std::remove_cvref_t<decltype(config.*section.pointer)>;
        if constexpr (boost::describe::has_describe_members<Section>::value) {
            collect(section.name, config.*section.pointer, fields);
        }
    });
    std::ranges::sort(fields, {}, &Field::row);  // rows are in one array
    return fields;
}

std::vector<Field> fields_of(BucketSection& bucket) {
    std::vector<Field> fields;
    collect("bucket", bucket, fields);
    return fields;
}

std::string toml_string(std::string_view text) {
    std::string quoted = "\"";
    for (char const each : text) {
        auto const code = static_cast<unsigned char>(each);
        if (each == '"' || each == '\\') {
            quoted += '\\';
            quoted += each;
        } else if (each == '\n') {
            quoted += "\\n";
        } else if (each == '\t') {
            quoted += "\\t";
        } else if (code < 0x20 || code == 0x7f) {
            quoted += fmt::format("\\u{:04X}", code);
        } else {
            quoted += each;
        }
    }
    return quoted + '"';
}

std::string toml_key(std::string_view key) {
    constexpr std::string_view kBare =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    bool const bare = !key.empty() && key.find_first_not_of(kBare) == std::string_view::npos;
    return bare ? std::string(key) : toml_string(key);
}

std::string toml_value(FieldRef const& value, SchemaRow const& row) {
    return std::visit(
        [&](auto const* each) {
            if constexpr (requires { each->is_auto(); }) {
                if (each->is_auto()) return toml_string(row.auto_word);
                return to_toml(*each->value);
            } else {
                return to_toml(*each);
            }
        },
        value);
}

bool same_value(FieldRef const& a, FieldRef const& b) {
    return std::visit(
        [&](auto const* left) {
            auto const* const* right =
                std::get_if<std::remove_const_t<std::remove_pointer_t<decltype(left)>>*>(&b);
            OSORA_CHECK(right != nullptr, "values of two kinds");
            return *left == **right;
        },
        a);
}

}  // namespace osora::plan
