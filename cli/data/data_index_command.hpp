// `osora data index`.
#pragma once

#include "cli/command/commands.hpp"

namespace osora::cli {

[[nodiscard]] CommandSpec data_index_command();

}  // namespace osora::cli
