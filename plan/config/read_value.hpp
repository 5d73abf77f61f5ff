// Reads one TOML value into one member and checks it by its schema row. Private to plan/config:
// includes toml++.
#pragma once

#include "plan/config/fields.hpp"

#include <toml++/toml.h>

#include <optional>
#include <string>

namespace osora::plan {

/// Returns what is wrong with `node`, or nullopt if it was stored: "expected an integer, found a
/// string; write 2", "must be at most 3; nearest valid: 3".
[[nodiscard]] std::optional<std::string> read_value(toml::node const& node, SchemaRow const& row,
                                                    FieldRef const& into);

/// "an integer", "a string", "a list"...
[[nodiscard]] std::string_view kind_of(toml::node const& node);

/// The value on one line as TOML, cut to about 40 bytes.
[[nodiscard]] std::string shown(toml::node const& node);

/// Whether a program can receive it as an argument or variable: no zero byte.
[[nodiscard]] bool is_c_string(std::string_view text);

}  // namespace osora::plan
