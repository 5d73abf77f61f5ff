// osora(1) as troff, generated from the command table. Pure.
#pragma once

#include "cli/command/command.hpp"

#include <span>
#include <string>

namespace osora::cli {

[[nodiscard]] std::string man_page(std::span<CommandSpec const> table);

}  // namespace osora::cli
