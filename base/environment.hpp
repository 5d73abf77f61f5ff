// The variables handed to a child: "NAME=value" each, exact bytes. Pure but for the first function,
// which main calls once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace osora {

using Environment = std::vector<std::string>;

/// The environment of this process.
[[nodiscard]] Environment current_environment();

/// Sets or replaces NAME.
void set_variable(Environment& environment, std::string_view name, std::string_view value);
void remove_variable(Environment& environment, std::string_view name);
[[nodiscard]] bool has_variable(Environment const& environment, std::string_view name);
/// The value of NAME; `otherwise` when it is not set.
[[nodiscard]] std::string variable_or(Environment const& environment, std::string_view name,
                                      std::string_view otherwise);

}  // namespace osora
