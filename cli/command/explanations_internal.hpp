// The tables of explanations(), each sorted by id. Private to explanations.
#pragma once

#include "cli/command/explanations.hpp"

#include <span>

namespace osora::cli {

[[nodiscard]] std::span<Explanation const> run_explanations();
[[nodiscard]] std::span<Explanation const> command_explanations();
[[nodiscard]] std::span<Explanation const> clip_explanations();

}  // namespace osora::cli
