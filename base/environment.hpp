// The variables of a child process: "NAME=value" each, exact bytes. Pure except for the first
// function, which main calls once.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace osora {

using Environment = std::vector<std::string>;

/// osora's limit for a launch; a kernel accepts 2 MiB with the arguments, 128 KiB for a variable.
constexpr std::size_t kEnvironmentBytesMax = 512 << 10;
constexpr std::size_t kVariableBytesMax = (128 << 10) - 1;

/// Bytes of all entries, each with its terminating zero byte.
[[nodiscard]] std::size_t size_bytes(Environment const& environment);
/// invalid_input, with the largest variable, when it exceeds one of the limits.
[[nodiscard]] Result<void> check_size(Environment const& environment);

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
